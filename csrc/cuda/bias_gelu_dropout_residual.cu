#include "cuda/column_sums.h"
#include "cuda/elementwise.h"

#include <tuple>

#include "checks/bias_gelu_dropout_residual.h"
#include "cuda/bias_gelu_dropout_residual_kernels.h"

namespace atlas::cuda {
namespace {

int64_t columns_of(const Tensor& x) {
  return x.dim() > 0 ? x.size(-1) : 1;
}

template <typename T>
BiasedDropout<T> biased_dropout(const Tensor& x, const Tensor& bias, double p, const Tensor& seed) {
  return {read<T>(x), read<T>(bias), read<int64_t>(seed), columns_of(x), bias.numel() == 1 ? 0 : 1, x.numel(),
          math::dropout_of(p, 0)};
}

dim3 blocks_of_fours(const Tensor& x) {
  constexpr int64_t lanes = math::random_lanes, block = math::random_block;
  return blocks_for((x.numel() + block - 1) / block * lanes);
}

}  // namespace

Tensor bias_gelu_dropout_residual(
    const Tensor& self, const Tensor& given_bias, const Tensor& residual, double p, const Tensor& seed) {
  const char* op = "bias_gelu_dropout_residual";
  expect_floating(op, "x", self);
  expect_bias_and_dropout(op, self, given_bias, p, seed);
  expect_like(op, "x", self, "residual", residual);
  const Tensor x = torch::stable::contiguous(self), rest = torch::stable::contiguous(residual);
  const Tensor bias = torch::stable::contiguous(given_bias);
  Tensor y = torch::stable::empty_like(x);
  if (x.numel() > 0) {
    for_floating(op, x.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      launch(
          op, x, bias_gelu_dropout_residual_kernel<T>, blocks_of_fours(x), elementwise_threads,
          biased_dropout<T>(x, bias, p, seed), read<T>(rest), write<T>(y));
    });
  }
  return y;
}

std::tuple<Tensor, Tensor> bias_gelu_dropout_residual_backward(
    const Tensor& upstream, const Tensor& self, const Tensor& given_bias, double p, const Tensor& seed) {
  const char* op = "bias_gelu_dropout_residual_backward";
  expect_floating(op, "x", self);
  expect_bias_and_dropout(op, self, given_bias, p, seed);
  expect_like(op, "x", self, "grad", upstream);
  const Tensor x = torch::stable::contiguous(self), grad = torch::stable::contiguous(upstream);
  const Tensor bias = torch::stable::contiguous(given_bias);
  Tensor grad_x = torch::stable::empty_like(x), grad_bias = torch::stable::new_empty(bias, bias.sizes());
  const int64_t columns = columns_of(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if (x.numel() > 0) {
      launch(
          op, x, bias_gelu_dropout_residual_backward_kernel<T>, blocks_of_fours(x), elementwise_threads,
          biased_dropout<T>(x, bias, p, seed), read<T>(grad), write<T>(grad_x));
    }
    const int64_t rows = x.numel() > 0 ? x.numel() / columns : 0;
    column_sums<T>(op, Stored<T>{read<T>(grad_x), columns}, rows, columns, grad_bias);
  });
  return {grad_x, grad_bias};
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("bias_gelu_dropout_residual", TORCH_BOX(&atlas::cuda::bias_gelu_dropout_residual));
  m.impl("bias_gelu_dropout_residual_backward", TORCH_BOX(&atlas::cuda::bias_gelu_dropout_residual_backward));
}
