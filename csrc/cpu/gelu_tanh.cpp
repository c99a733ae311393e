#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "math/gelu.h"

#define ATLAS_LOOPS "cpu/gelu_tanh_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {

Tensor gelu_tanh(const Tensor& self) {
  expect_floating("gelu_tanh", "x", self);
  const Tensor x = dense(self);
  Tensor y = fresh_like(x);
  for_floating("gelu_tanh", x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    torch::stable::parallel_for(0, x.numel(), grain, [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(gelu_tanh<T>)(read<T>(x) + begin, write<T>(y) + begin, end - begin);
    });
  });
  return y;
}

Tensor gelu_tanh_backward(const Tensor& upstream, const Tensor& self) {
  expect_floating("gelu_tanh_backward", "x", self);
  expect_same_dtype("gelu_tanh_backward", "x", self, "grad", upstream);
  expect_same_shape("gelu_tanh_backward", "x", self, "grad", upstream);
  const Tensor x = dense(self);
  const Tensor grad = in_layout_of(x, upstream);
  Tensor grad_x = fresh_like(x);
  for_floating("gelu_tanh_backward", x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    torch::stable::parallel_for(0, x.numel(), grain, [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(gelu_tanh_backward<T>)
      (read<T>(grad) + begin, read<T>(x) + begin, write<T>(grad_x) + begin, end - begin);
    });
  });
  return grad_x;
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("gelu_tanh", TORCH_BOX(&atlas::gelu_tanh));
  m.impl("gelu_tanh_backward", TORCH_BOX(&atlas::gelu_tanh_backward));
}
