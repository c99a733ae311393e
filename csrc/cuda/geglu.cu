#include "cuda/elementwise.h"
#include "checks/geglu.h"

#include "cuda/geglu_kernels.h"

namespace atlas::cuda {
namespace {

// start(width as a constant, blocks): packs where halves and pointers allow them.
template <typename T, typename Start, typename... Tensors>
void by_widest_run(int64_t half, int64_t count, const Start& start, const Tensors&... tensors) {
  constexpr int width = Pack<T>::size;
  if (count == 0) {
    return;
  }
  if (half % width == 0 && (... && on_16_bytes(tensors.const_data_ptr()))) {
    start(std::integral_constant<int, width>{}, blocks_for(count / width));
  } else {
    start(std::integral_constant<int, 1>{}, blocks_for(count));
  }
}

}  // namespace

Tensor geglu(const Tensor& self) {
  expect_floating("geglu", "x", self);
  const auto shape = halved("geglu", self);
  const Tensor x = torch::stable::contiguous(self);
  Tensor y = torch::stable::new_empty(x, shape);
  for_floating("geglu", x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto start = [&](auto width, dim3 blocks) {
      launch(
          "geglu", x, geglu_kernel<T, width.value>, blocks, elementwise_threads, read<T>(x), write<T>(y), shape.back(),
          y.numel());
    };
    by_widest_run<T>(shape.back(), y.numel(), start, x, y);
  });
  return y;
}

Tensor geglu_backward(const Tensor& upstream, const Tensor& self) {
  const char* op = "geglu_backward";
  expect_floating(op, "x", self);
  const int64_t half = halved(op, self, upstream).back();
  const Tensor x = torch::stable::contiguous(self);
  const Tensor grad = torch::stable::contiguous(upstream);
  Tensor grad_x = torch::stable::empty_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto start = [&](auto width, dim3 blocks) {
      launch(
          op, x, geglu_backward_kernel<T, width.value>, blocks, elementwise_threads, read<T>(grad), read<T>(x),
          write<T>(grad_x), half, grad.numel());
    };
    by_widest_run<T>(half, grad.numel(), start, grad, x, grad_x);
  });
  return grad_x;
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("geglu", TORCH_BOX(&atlas::cuda::geglu));
  m.impl("geglu_backward", TORCH_BOX(&atlas::cuda::geglu_backward));
}
