#include "cuda/column_sums.h"
#include "cuda/elementwise.h"

#include <tuple>

#include "checks/weighted_row_sum.h"
#include "cuda/weighted_row_sum_kernels.h"

namespace atlas::cuda {

Tensor weighted_row_sum(const Tensor& given, const Tensor& given_weights) {
  const char* op = "weighted_row_sum";
  expect_floating(op, "x", given);
  expect_matrix_and_weights(op, given, given_weights);
  const Tensor x = with_dense_rows(given), weights = torch::stable::contiguous(given_weights);
  const int64_t rows = x.size(0), columns = x.size(1);
  Tensor y = torch::stable::new_empty(x, {rows});
  if (rows > 0) {
    for_floating(op, x.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      launch(
          op, x, weighted_row_sum_kernel<T>, blocks_of_rows(rows), threads_of_row(columns), read<T>(x),
          read<T>(weights), write<T>(y), rows, columns, x.stride(0));
    });
  }
  return y;
}

std::tuple<Tensor, Tensor> weighted_row_sum_backward(
    const Tensor& given_grad, const Tensor& given, const Tensor& given_weights) {
  const char* op = "weighted_row_sum_backward";
  expect_floating(op, "x", given);
  expect_matrix_and_weights(op, given, given_weights);
  expect_gradient_of_rows(op, given, given_grad);
  const Tensor x = with_dense_rows(given), weights = torch::stable::contiguous(given_weights);
  const Tensor grad = torch::stable::contiguous(given_grad);
  const int64_t rows = x.size(0), columns = x.size(1);
  Tensor grad_x = torch::stable::new_empty(x, {rows, columns});
  Tensor grad_weights = torch::stable::new_empty(weights, {columns});
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if (grad_x.numel() > 0) {
      launch(
          op, x, outer_product_kernel<T>, blocks_for(grad_x.numel()), elementwise_threads, read<T>(grad),
          read<T>(weights), write<T>(grad_x), columns, grad_x.numel());
    }
    column_sums<T>(op, GradTimesRow<T>{read<T>(grad), read<T>(x), x.stride(0)}, rows, columns, grad_weights);
  });
  return {grad_x, grad_weights};
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("weighted_row_sum", TORCH_BOX(&atlas::cuda::weighted_row_sum));
  m.impl("weighted_row_sum_backward", TORCH_BOX(&atlas::cuda::weighted_row_sum_backward));
}
