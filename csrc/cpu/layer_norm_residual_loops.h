// Compiled once per instruction set by each_instruction_set.h; hence no include guard.
#include "cpu/row_loops.h"

// Sums of what a row is away from `origin`, and of its square.
struct Moments {
  double origin;
  double sum;
  double squares;
};

// summed = x + residual, rounded to T; returns its moments, before rounding, about its first value.
template <typename T>
inline Moments add_row(const T* x, const T* residual, T* summed, int64_t columns) {
  using A = arithmetic_t<T>;
  A left[tile], right[tile];
  const A origin = columns ? static_cast<A>(x[0]) + static_cast<A>(residual[0]) : A(0);
  double sum = 0, squares = 0;
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* a = widened(x + begin, left, n);
    const A* b = widened(residual + begin, right, n);
    A* out = left;
    if constexpr (sizeof(T) > 2) {
      out = summed + begin;
    }
    A first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
    for (int64_t i = 0; i < n; ++i) {
      out[i] = a[i] + b[i];
      const A off = out[i] - origin;
      first += off;
      second += off * off;
    }
    if constexpr (sizeof(T) == 2) {
      narrow(left, summed + begin, n);
    }
    sum += static_cast<double>(first);
    squares += static_cast<double>(second);
  }
  return {static_cast<double>(origin), sum, squares};
}

// Whether the origin was so near the mean that the variance lost no more than a few of its last bits, and no rounding
// to 16 bits came in between.
template <typename T>
inline bool are_exact(Moments row, int64_t columns) {
  const double offset = row.sum / static_cast<double>(columns);
  return sizeof(T) > 2 && 17.0 * offset * offset <= row.squares / static_cast<double>(columns) * 16.0 &&
      row.squares <= std::numeric_limits<float>::max();
}

// Where squares leave the range of float.
template <typename T>
inline math::RowStatistics statistics_in_double(const T* x, int64_t columns, double eps) {
  double total = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < columns; ++i) {
    total += static_cast<double>(x[i]);
  }
  const double near = total / static_cast<double>(columns);
  for (int64_t i = 0; i < columns; ++i) {
    const double off = static_cast<double>(x[i]) - near;
    sum += off;
    squares += off * off;
  }
  return math::row_statistics(near, sum, squares, static_cast<double>(columns), eps);
}

template <typename T>
inline math::RowStatistics statistics_of(const T* x, int64_t columns, double near, double eps) {
  using A = arithmetic_t<T>;
  A buffer[tile];
  double sum = 0, squares = 0;
  const A origin = static_cast<A>(near);
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* values = widened(x + begin, buffer, n);
    A first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
    for (int64_t i = 0; i < n; ++i) {
      const A off = values[i] - origin;
      first += off;
      second += off * off;
    }
    sum += static_cast<double>(first);
    squares += static_cast<double>(second);
  }
  if (sizeof(A) < sizeof(double) && !(squares <= static_cast<double>(std::numeric_limits<A>::max()))) {
    return statistics_in_double(x, columns, eps);
  }
  return math::row_statistics(static_cast<double>(origin), sum, squares, static_cast<double>(columns), eps);
}

template <typename T>
inline void normalise_row(
    const T* x, const arithmetic_t<T>* weight, const arithmetic_t<T>* bias, T* y, int64_t columns,
    math::RowStatistics row, bool past_cache) {
  using A = arithmetic_t<T>;
  A buffer[tile];
  const auto mean = math::two_parts<A>(row.mean);
  const A rstd = static_cast<A>(row.rstd);
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* values = widened(x + begin, buffer, n);
    const A *w = weight + begin, *b = bias + begin;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      buffer[i] = math::normalised(values[i], mean, rstd) * w[i] + b[i];
    }
    store_tile(buffer, y + begin, n, past_cache);
  }
}

template <typename T>
void layer_norm_residual(
    const T* x, const T* residual, const arithmetic_t<T>* weight, const arithmetic_t<T>* bias, T* y, T* summed,
    double* mean, double* rstd, int64_t rows, int64_t columns, double eps, bool past_cache) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    const Moments about_first = add_row(x + at, residual + at, summed + at, columns);
    if (row + 1 < rows) {
      prefetch_row(x + at + columns, columns);
      prefetch_row(residual + at + columns, columns);
    }
    const double count = static_cast<double>(columns), near = about_first.origin + about_first.sum / count;
    const auto statistics = are_exact<T>(about_first, columns)
        ? math::row_statistics(about_first.origin, about_first.sum, about_first.squares, count, eps)
        : statistics_of(summed + at, columns, near, eps);
    normalise_row(summed + at, weight, bias, y + at, columns, statistics, past_cache);
    mean[row] = statistics.mean;
    rstd[row] = statistics.rstd;
  }
  finish_past_cache();
}
