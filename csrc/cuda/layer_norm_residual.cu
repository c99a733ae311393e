#include "cuda/column_sums.h"

#include <optional>
#include <tuple>
#include <vector>

#include "checks/layer_norm_residual.h"
#include "cuda/layer_norm_residual_kernels.h"

namespace atlas::cuda {

std::tuple<Tensor, Tensor, Tensor, Tensor> layer_norm_residual(
    const Tensor& given_x, const Tensor& given_residual, const Tensor& given_weight, const Tensor& given_bias,
    double eps) {
  const char* op = "layer_norm_residual";
  expect_floating(op, "x", given_x);
  expect_sum_and_parameters(op, given_x, given_residual, given_weight, given_bias);
  const Tensor x = torch::stable::contiguous(given_x), residual = torch::stable::contiguous(given_residual);
  const Tensor weight = torch::stable::contiguous(given_weight), bias = torch::stable::contiguous(given_bias);
  const std::vector<int64_t> lead(x.sizes().begin(), x.sizes().end() - 1);
  Tensor y = torch::stable::empty_like(x), summed = torch::stable::empty_like(x);
  Tensor mean = torch::stable::new_empty(x, lead, ScalarType::Double);
  Tensor rstd = torch::stable::new_empty(x, lead, ScalarType::Double);
  const int64_t rows = mean.numel(), columns = weight.numel();
  if (rows > 0) {
    for_floating(op, x.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      launch(
          op, x, layer_norm_residual_kernel<T>, blocks_of_rows(rows), threads_of_row(columns), read<T>(x),
          read<T>(residual), read<T>(weight), read<T>(bias), write<T>(y), write<T>(summed), write<double>(mean),
          write<double>(rstd), rows, columns, eps);
    });
  }
  return {y, summed, mean, rstd};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_residual_backward(
    const Tensor& given_grad, const std::optional<Tensor>& given_grad_summed, const Tensor& given_summed,
    const Tensor& given_mean, const Tensor& given_rstd, const Tensor& given_weight) {
  const char* op = "layer_norm_residual_backward";
  expect_floating(op, "summed", given_summed);
  expect_saved_sum(op, given_grad, given_grad_summed, given_summed, given_mean, given_rstd, given_weight);
  const Tensor grad = torch::stable::contiguous(given_grad), summed = torch::stable::contiguous(given_summed);
  const Tensor mean = torch::stable::contiguous(given_mean), rstd = torch::stable::contiguous(given_rstd);
  const Tensor weight = torch::stable::contiguous(given_weight);
  const Tensor through = given_grad_summed ? torch::stable::contiguous(*given_grad_summed) : grad;
  Tensor grad_x = torch::stable::empty_like(summed);
  Tensor grad_weight = torch::stable::empty_like(weight), grad_bias = torch::stable::empty_like(weight);
  const int64_t columns = weight.numel(), rows = columns > 0 ? summed.numel() / columns : 0;
  for_floating(op, summed.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if (rows > 0) {
      launch(
          op, summed, layer_norm_residual_backward_kernel<T>, blocks_of_rows(rows), threads_of_row(columns),
          read<T>(grad), given_grad_summed ? read<T>(through) : nullptr, read<T>(summed), read<double>(mean),
          read<double>(rstd), read<T>(weight), write<T>(grad_x), rows, columns);
    }
    const GradTimesNormal<T> share{read<T>(grad), read<T>(summed), read<double>(mean), read<double>(rstd), columns};
    column_sums<T>(op, share, rows, columns, grad_weight);
    column_sums<T>(op, Stored<T>{read<T>(grad), columns}, rows, columns, grad_bias);
  });
  return {grad_x, grad_weight, grad_bias};
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("layer_norm_residual", TORCH_BOX(&atlas::cuda::layer_norm_residual));
  m.impl("layer_norm_residual_backward", TORCH_BOX(&atlas::cuda::layer_norm_residual_backward));
}
