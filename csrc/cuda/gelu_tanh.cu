#include "cuda/elementwise.h"
#include "math/gelu.h"

namespace atlas::cuda {

struct GeluTanh {
  template <typename A>
  ATLAS_FN A operator()(A x) const {
    return math::gelu_tanh(x);
  }
};

struct GeluTanhBackward {
  template <typename A>
  ATLAS_FN A operator()(A grad, A x) const {
    return grad * math::gelu_tanh_derivative(x);
  }
};

Tensor gelu_tanh(const Tensor& self) {
  expect_floating("gelu_tanh", "x", self);
  const Tensor x = dense(self);
  Tensor y = torch::stable::empty_like(x);
  for_floating("gelu_tanh", x.scalar_type(), [&](auto zero) {
    map_values<decltype(zero)>("gelu_tanh", GeluTanh{}, y, x);
  });
  return y;
}

Tensor gelu_tanh_backward(const Tensor& upstream, const Tensor& self) {
  constexpr const char* op = "gelu_tanh_backward";
  expect_floating(op, "x", self);
  expect_like(op, "x", self, "grad", upstream);
  const Tensor x = dense(self);
  const Tensor grad = in_layout_of(x, upstream);
  Tensor grad_x = torch::stable::empty_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    map_values<decltype(zero)>(op, GeluTanhBackward{}, grad_x, grad, x);
  });
  return grad_x;
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("gelu_tanh", TORCH_BOX(&atlas::cuda::gelu_tanh));
  m.impl("gelu_tanh_backward", TORCH_BOX(&atlas::cuda::gelu_tanh_backward));
}
