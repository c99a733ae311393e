// Compiled once per instruction set by each_instruction_set.h; hence no include guard.
#include "cpu/row_loops.h"

// summed = x + residual, rounded to T; returns its sum over the row, before rounding.
template <typename T>
inline double add_row(const T* x, const T* residual, T* summed, int64_t columns) {
  using A = arithmetic_t<T>;
  A left[tile], right[tile];
  double total = 0;
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* a = widened(x + begin, left, n);
    const A* b = widened(residual + begin, right, n);
    A sum = 0;
    if constexpr (sizeof(T) > 2) {
      T* out = summed + begin;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) {
        out[i] = a[i] + b[i];
        sum += out[i];
      }
    } else {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i) {
        left[i] = a[i] + b[i];
        sum += left[i];
      }
      narrow(left, summed + begin, n);
    }
    total += static_cast<double>(sum);
  }
  return total;
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
    math::RowStatistics row) {
  using A = arithmetic_t<T>;
  A buffer[tile];
  const auto mean = math::two_parts<A>(row.mean);
  const A rstd = static_cast<A>(row.rstd);
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* values = widened(x + begin, buffer, n);
    const A *w = weight + begin, *b = bias + begin;
    A* out = buffer;
    if constexpr (sizeof(T) > 2) {
      out = y + begin;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      out[i] = math::normalised(values[i], mean, rstd) * w[i] + b[i];
    }
    if constexpr (sizeof(T) == 2) {
      narrow(buffer, y + begin, n);
    }
  }
}

template <typename T>
void layer_norm_residual(
    const T* x, const T* residual, const arithmetic_t<T>* weight, const arithmetic_t<T>* bias, T* y, T* summed,
    double* mean, double* rstd, int64_t rows, int64_t columns, double eps) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    const double near = add_row(x + at, residual + at, summed + at, columns) / static_cast<double>(columns);
    const auto statistics = statistics_of(summed + at, columns, near, eps);
    normalise_row(summed + at, weight, bias, y + at, columns, statistics);
    mean[row] = statistics.mean;
    rstd[row] = statistics.rstd;
  }
}
