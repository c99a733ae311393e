#include "cuda/rows.h"

#include <tuple>

#include "checks/cross_entropy.h"
#include "cuda/cross_entropy_kernels.h"

namespace atlas::cuda {

std::tuple<Tensor, Tensor> cross_entropy(
    const Tensor& given_logits, const Tensor& given_target, double smoothing, int64_t ignore_index) {
  const char* op = "cross_entropy";
  expect_floating(op, "logits", given_logits);
  expect_rows_and_classes(op, given_logits, given_target, smoothing);
  const Tensor logits = with_dense_rows(given_logits), target = torch::stable::contiguous(given_target);
  const int64_t rows = logits.size(0), classes = logits.size(1);
  Tensor losses = torch::stable::new_empty(logits, {rows}, arithmetic_dtype(logits));
  Tensor normalizer = torch::stable::new_empty(logits, {rows, 2}, ScalarType::Double);
  if (rows > 0) {
    for_floating(op, logits.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      using A = arithmetic_t<T>;
      launch(
          op, logits, cross_entropy_kernel<T>, blocks_of_rows(rows), threads_of_row(classes), read<T>(logits),
          read<int64_t>(target), write<A>(losses),
          reinterpret_cast<math::Normalizer*>(write<double>(normalizer)), rows, classes, logits.stride(0), smoothing,
          ignore_index);
    });
  }
  return {losses, normalizer};
}

Tensor cross_entropy_backward(
    const Tensor& given_grad, const Tensor& given_logits, const Tensor& given_target, const Tensor& given_normalizer,
    double smoothing, int64_t ignore_index) {
  const char* op = "cross_entropy_backward";
  expect_floating(op, "logits", given_logits);
  expect_rows_and_classes(op, given_logits, given_target, smoothing);
  expect_saved_rows(op, given_target, given_grad, given_normalizer, arithmetic_dtype(given_logits));
  const Tensor logits = with_dense_rows(given_logits), target = torch::stable::contiguous(given_target);
  const Tensor grad = torch::stable::contiguous(given_grad), normalizer = torch::stable::contiguous(given_normalizer);
  const int64_t rows = logits.size(0), classes = logits.size(1);
  Tensor grad_logits = torch::stable::new_empty(logits, {rows, classes});
  if (grad_logits.numel() > 0) {
    for_floating(op, logits.scalar_type(), [&](auto zero) {
      using T = decltype(zero);
      using A = arithmetic_t<T>;
      launch(
          op, logits, cross_entropy_backward_kernel<T>, blocks_of_rows(rows), threads_of_row(classes), read<A>(grad),
          read<T>(logits), read<int64_t>(target),
          reinterpret_cast<const math::Normalizer*>(read<double>(normalizer)), write<T>(grad_logits), rows, classes,
          logits.stride(0), smoothing, ignore_index);
    });
  }
  return grad_logits;
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("cross_entropy", TORCH_BOX(&atlas::cuda::cross_entropy));
  m.impl("cross_entropy_backward", TORCH_BOX(&atlas::cuda::cross_entropy_backward));
}
