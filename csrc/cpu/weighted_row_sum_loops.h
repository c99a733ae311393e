// Compiled once per instruction set by each_instruction_set.h; hence no include guard.
#include "cpu/row_loops.h"

// Rows of dense elements. Four at once: each waits for its own addition before, and all four read the same weights.
template <typename T>
inline void sum_four_rows(
    const T* x, int64_t row_stride, const arithmetic_t<T>* weights, double* totals, int64_t columns) {
  using A = arithmetic_t<T>;
  A buffers[4][tile];
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* a = widened(x + begin, buffers[0], n);
    const A* b = widened(x + row_stride + begin, buffers[1], n);
    const A* c = widened(x + 2 * row_stride + begin, buffers[2], n);
    const A* d = widened(x + 3 * row_stride + begin, buffers[3], n);
    const A* w = weights + begin;
    A first = 0, second = 0, third = 0, fourth = 0;
#pragma omp simd reduction(+ : first, second, third, fourth)
    for (int64_t i = 0; i < n; ++i) {
      first += a[i] * w[i];
      second += b[i] * w[i];
      third += c[i] * w[i];
      fourth += d[i] * w[i];
    }
    totals[0] += first;
    totals[1] += second;
    totals[2] += third;
    totals[3] += fourth;
  }
}

template <typename T>
inline double sum_row(const T* x, const arithmetic_t<T>* weights, int64_t columns) {
  using A = arithmetic_t<T>;
  A buffer[tile];
  double total = 0;
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* a = widened(x + begin, buffer, n);
    const A* w = weights + begin;
    A sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
      sum += a[i] * w[i];
    }
    total += static_cast<double>(sum);
  }
  return total;
}

template <typename T>
void weighted_row_sum(
    const T* x, const arithmetic_t<T>* weights, T* y, int64_t rows, int64_t columns, int64_t row_stride) {
  using A = arithmetic_t<T>;
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    double totals[4] = {};
    sum_four_rows(x + row * row_stride, row_stride, weights, totals, columns);
    for (int64_t i = 0; i < 4; ++i) {
      y[row + i] = static_cast<T>(static_cast<A>(totals[i]));
    }
  }
  for (; row < rows; ++row) {
    y[row] = static_cast<T>(static_cast<A>(sum_row(x + row * row_stride, weights, columns)));
  }
}

// Columns of dense elements: column after column, `tile` rows at a time, so that memory is walked in order.
template <typename T>
void weighted_row_sum_by_columns(
    const T* x, const arithmetic_t<T>* weights, T* y, int64_t rows, int64_t columns, int64_t column_stride) {
  using A = arithmetic_t<T>;
  constexpr int64_t added_at_once = 256;
  A buffer[tile], sums[tile];
  double totals[tile];
  for (int64_t begin = 0; begin < rows; begin += tile) {
    const int64_t n = std::min(tile, rows - begin);
    std::fill(totals, totals + n, 0.0);
    for (int64_t from = 0; from < columns; from += added_at_once) {
      std::fill(sums, sums + n, A(0));
      for (int64_t column = from; column < std::min(from + added_at_once, columns); ++column) {
        const A* values = widened(x + column * column_stride + begin, buffer, n);
        const A weight = weights[column];
        for (int64_t i = 0; i < n; ++i) {
          sums[i] += values[i] * weight;
        }
      }
      for (int64_t i = 0; i < n; ++i) {
        totals[i] += static_cast<double>(sums[i]);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      y[begin + i] = static_cast<T>(static_cast<A>(totals[i]));
    }
  }
}

// grad_x[i, j] = grad[i] * weights[j]; grad_weights[j] += grad[i] * x[i, j].
template <typename T>
void weighted_row_sum_backward(
    const arithmetic_t<T>* grad, const T* x, const arithmetic_t<T>* weights, T* grad_x, arithmetic_t<T>* grad_weights,
    int64_t rows, int64_t columns, int64_t row_stride) {
  using A = arithmetic_t<T>;
  A buffer[tile];
  for (int64_t row = 0; row < rows; ++row) {
    const A upstream = grad[row];
    for (int64_t begin = 0; begin < columns; begin += tile) {
      const int64_t n = std::min(tile, columns - begin);
      const A* values = widened(x + row * row_stride + begin, buffer, n);
      const A* w = weights + begin;
      A *total = grad_weights + begin, *out = buffer;
      if constexpr (sizeof(T) > 2) {
        out = grad_x + row * columns + begin;
      }
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        total[i] += upstream * values[i];
        out[i] = upstream * w[i];
      }
      if constexpr (sizeof(T) == 2) {
        narrow(buffer, grad_x + row * columns + begin, n);
      }
    }
  }
}
