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

Tensor gelu_tanh(const Tensor& x) {
  return elementwise("gelu_tanh", x, GeluTanh{});
}

Tensor gelu_tanh_backward(const Tensor& grad, const Tensor& x) {
  return elementwise_backward("gelu_tanh_backward", grad, x, GeluTanhBackward{});
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("gelu_tanh", TORCH_BOX(&atlas::cuda::gelu_tanh));
  m.impl("gelu_tanh_backward", TORCH_BOX(&atlas::cuda::gelu_tanh_backward));
}
