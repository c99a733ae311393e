// Compiled once per instruction set by each_instruction_set.h; hence no include guard.
#include "cpu/row_loops.h"

template <typename A>
struct RowMeans {
  A scaled;
  A product;
};

// Adds the row's share to the gradients of weight and bias; returns the means over the row that its own gradient needs.
template <typename T>
inline RowMeans<arithmetic_t<T>> add_parameter_gradients(
    const T* grad, const T* summed, const arithmetic_t<T>* weight, arithmetic_t<T>* grad_weight,
    arithmetic_t<T>* grad_bias, int64_t columns, math::TwoParts<arithmetic_t<T>> mean, arithmetic_t<T> rstd) {
  using A = arithmetic_t<T>;
  A left[tile], right[tile];
  double sum_scaled = 0, sum_product = 0;
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* g = widened(grad + begin, left, n);
    const A* x = widened(summed + begin, right, n);
    const A* w = weight + begin;
    A *gw = grad_weight + begin, *gb = grad_bias + begin;
    A scaled = 0, product = 0;
#pragma omp simd reduction(+ : scaled, product)
    for (int64_t i = 0; i < n; ++i) {
      const A normal = math::normalised(x[i], mean, rstd);
      const A share = g[i] * normal;
      gw[i] += share;
      gb[i] += g[i];
      scaled += g[i] * w[i];
      product += share * w[i];
    }
    sum_scaled += static_cast<double>(scaled);
    sum_product += static_cast<double>(product);
  }
  const double count = static_cast<double>(columns);
  return {static_cast<A>(sum_scaled / count), static_cast<A>(sum_product / count)};
}

// grad_x, with the gradient that came through the sum (or null) added.
template <typename T>
inline void write_gradient(
    const T* grad, const T* grad_summed, const T* summed, const arithmetic_t<T>* weight, T* grad_x, int64_t columns,
    math::TwoParts<arithmetic_t<T>> mean, arithmetic_t<T> rstd, RowMeans<arithmetic_t<T>> means,
    bool past_cache) {
  using A = arithmetic_t<T>;
  A left[tile], right[tile], through[tile];
  for (int64_t begin = 0; begin < columns; begin += tile) {
    const int64_t n = std::min(tile, columns - begin);
    const A* g = widened(grad + begin, left, n);
    const A* x = widened(summed + begin, right, n);
    const A* w = weight + begin;
    const auto own = [&](int64_t i) {
      const A normal = math::normalised(x[i], mean, rstd);
      return math::layer_norm_gradient(g[i] * w[i], normal, rstd, means.scaled, means.product);
    };
    if (grad_summed) {
      const A* gs = widened(grad_summed + begin, through, n);
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        left[i] = own(i) + gs[i];
      }
    } else {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        left[i] = own(i);
      }
    }
    store_tile(left, grad_x + begin, n, past_cache);
  }
}

template <typename T>
void layer_norm_residual_backward(
    const T* grad, const T* grad_summed, const T* summed, const double* mean, const double* rstd,
    const arithmetic_t<T>* weight, T* grad_x, arithmetic_t<T>* grad_weight, arithmetic_t<T>* grad_bias, int64_t rows,
    int64_t columns, bool past_cache) {
  using A = arithmetic_t<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    const auto row_mean = math::two_parts<A>(mean[row]);
    const A row_rstd = static_cast<A>(rstd[row]);
    const auto means = add_parameter_gradients(
        grad + at, summed + at, weight, grad_weight, grad_bias, columns, row_mean, row_rstd);
    if (row + 1 < rows) {
      prefetch_row(grad + at + columns, columns);
      prefetch_row(summed + at + columns, columns);
    }
    write_gradient(
        grad + at, grad_summed ? grad_summed + at : nullptr, summed + at, weight, grad_x + at, columns, row_mean,
        row_rstd, means, past_cache);
  }
  finish_past_cache();
}
