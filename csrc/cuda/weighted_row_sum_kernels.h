// One block per row forward; backward an outer product, and sums over the rows.
#pragma once

#include "cuda/arithmetic.h"
#include "cuda/block_reduce.h"

namespace atlas::cuda {

template <typename T>
__global__ void weighted_row_sum_kernel(
    const T* x, const T* weights, T* y, int64_t rows, int64_t columns, int64_t row_stride) {
  using A = arithmetic_t<T>;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    A sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      sum += static_cast<A>(x[row * row_stride + i]) * static_cast<A>(weights[i]);
    }
    const double total = block_reduce(static_cast<double>(sum), 0.0, Add{});
    if (threadIdx.x == 0) {
      y[row] = static_cast<T>(static_cast<A>(total));
    }
  }
}

// grad_x (rows, columns) = grad (rows,) times weights (columns,).
template <typename T>
__global__ void outer_product_kernel(const T* grad, const T* weights, T* grad_x, int64_t columns, int64_t count) {
  using A = arithmetic_t<T>;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    grad_x[i] = static_cast<T>(static_cast<A>(grad[i / columns]) * static_cast<A>(weights[i % columns]));
  }
}

// What grad_weights sums over the rows.
template <typename T>
struct GradTimesRow {
  const T* grad;
  const T* x;
  int64_t row_stride;

  ATLAS_FN arithmetic_t<T> operator()(int64_t row, int64_t column) const {
    using A = arithmetic_t<T>;
    return static_cast<A>(grad[row]) * static_cast<A>(x[row * row_stride + column]);
  }
};

}  // namespace atlas::cuda
