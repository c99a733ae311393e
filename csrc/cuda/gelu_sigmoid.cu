#include "cuda/elementwise.h"
#include "math/gelu_sigmoid.h"

namespace atlas::cuda {

struct GeluSigmoid {  // the forward is the tanh form; only the slope differs
  template <typename A>
  ATLAS_FN A operator()(A x) const {
    return math::gelu_tanh(x);
  }
};

struct GeluSigmoidBackward {
  template <typename A>
  ATLAS_FN A operator()(A grad, A x) const {
    return grad * math::gelu_sigmoid_slope(x);
  }
};

Tensor gelu_sigmoid(const Tensor& x) {
  return elementwise("gelu_sigmoid", x, GeluSigmoid{});
}

Tensor gelu_sigmoid_backward(const Tensor& grad, const Tensor& x) {
  return elementwise_backward("gelu_sigmoid_backward", grad, x, GeluSigmoidBackward{});
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("gelu_sigmoid", TORCH_BOX(&atlas::cuda::gelu_sigmoid));
  m.impl("gelu_sigmoid_backward", TORCH_BOX(&atlas::cuda::gelu_sigmoid_backward));
}
