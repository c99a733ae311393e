// One block per row: the sum, its statistics, its layer norm; each thread meets its own elements again in every pass.
#pragma once

#include "cuda/arithmetic.h"
#include "cuda/block_reduce.h"
#include "math/layer_norm.h"

namespace atlas::cuda {

// Statistics of a row around `near`, computed in A.
template <typename A, typename T>
__device__ math::RowStatistics statistics_around(const T* x, int64_t columns, A near, double eps, bool& overflowed) {
  A sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const A off = static_cast<A>(x[i]) - near;
    sum += off;
    squares += off * off;
  }
  const double all = block_reduce(static_cast<double>(sum), 0.0, Add{});
  const double all_squares = block_reduce(static_cast<double>(squares), 0.0, Add{});
  overflowed = !(all_squares <= static_cast<double>(std::numeric_limits<A>::max()));
  return math::row_statistics(static_cast<double>(near), all, all_squares, static_cast<double>(columns), eps);
}

template <typename T>
__global__ void layer_norm_residual_kernel(
    const T* x, const T* residual, const T* weight, const T* bias, T* y, T* summed, double* mean, double* rstd,
    int64_t rows, int64_t columns, double eps) {
  using A = arithmetic_t<T>;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t at = row * columns;
    double total = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      const A sum = static_cast<A>(x[at + i]) + static_cast<A>(residual[at + i]);
      summed[at + i] = static_cast<T>(sum);
      total += static_cast<double>(sum);
    }
    const double near = block_reduce(total, 0.0, Add{}) / static_cast<double>(columns);
    bool overflowed = false;
    auto statistics = statistics_around(summed + at, columns, static_cast<A>(near), eps, overflowed);
    if (overflowed && sizeof(A) < sizeof(double)) {  // the same for the whole block
      statistics = statistics_around(summed + at, columns, near, eps, overflowed);
    }
    const auto row_mean = math::two_parts<A>(statistics.mean);
    const A row_rstd = static_cast<A>(statistics.rstd);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      const A normal = math::normalised(static_cast<A>(summed[at + i]), row_mean, row_rstd);
      y[at + i] = static_cast<T>(normal * static_cast<A>(weight[i]) + static_cast<A>(bias[i]));
    }
    if (threadIdx.x == 0) {
      mean[row] = statistics.mean;
      rstd[row] = statistics.rstd;
    }
  }
}

// grad_x, with the gradient that came through the sum (or null) added.
template <typename T>
__global__ void layer_norm_residual_backward_kernel(
    const T* grad, const T* grad_summed, const T* summed, const double* mean, const double* rstd, const T* weight,
    T* grad_x, int64_t rows, int64_t columns) {
  using A = arithmetic_t<T>;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t at = row * columns;
    const auto row_mean = math::two_parts<A>(mean[row]);
    const A row_rstd = static_cast<A>(rstd[row]);
    double sum_scaled = 0, sum_product = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      const A scaled = static_cast<A>(grad[at + i]) * static_cast<A>(weight[i]);
      sum_scaled += static_cast<double>(scaled);
      sum_product += static_cast<double>(
          scaled * math::normalised(static_cast<A>(summed[at + i]), row_mean, row_rstd));
    }
    const double count = static_cast<double>(columns);
    const A mean_scaled = static_cast<A>(block_reduce(sum_scaled, 0.0, Add{}) / count);
    const A mean_product = static_cast<A>(block_reduce(sum_product, 0.0, Add{}) / count);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      const A scaled = static_cast<A>(grad[at + i]) * static_cast<A>(weight[i]);
      const A normal = math::normalised(static_cast<A>(summed[at + i]), row_mean, row_rstd);
      const A through = grad_summed ? static_cast<A>(grad_summed[at + i]) : A(0);
      grad_x[at + i] = static_cast<T>(
          math::layer_norm_gradient(scaled, normal, row_rstd, mean_scaled, mean_product) + through);
    }
  }
}

// What grad_weight sums over the rows.
template <typename T>
struct GradTimesNormal {
  const T* grad;
  const T* summed;
  const double* mean;
  const double* rstd;
  int64_t columns;

  ATLAS_FN arithmetic_t<T> operator()(int64_t row, int64_t column) const {
    using A = arithmetic_t<T>;
    const int64_t i = row * columns + column;
    const A normal =
        math::normalised(static_cast<A>(summed[i]), math::two_parts<A>(mean[row]), static_cast<A>(rstd[row]));
    return static_cast<A>(grad[i]) * normal;
  }
};

}  // namespace atlas::cuda
