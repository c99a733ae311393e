#include "cuda/elementwise.h"
#include "checks/clipped_sigmoid.h"
#include "math/clipped_sigmoid.h"

namespace atlas::cuda {

struct ClippedSigmoid {
  double beta;

  template <typename A>
  ATLAS_FN A operator()(A x) const {
    return math::scaled_sigmoid(x, static_cast<A>(beta));
  }
};

struct ClippedSigmoidBackward {
  double beta, clip;

  template <typename A>
  ATLAS_FN A operator()(A grad, A x) const {
    return grad * math::clipped_sigmoid_slope(x, static_cast<A>(beta), static_cast<A>(clip));
  }
};

Tensor clipped_sigmoid(const Tensor& x, double beta, double clip) {
  expect_slope_and_clip("clipped_sigmoid", beta, clip);
  return elementwise("clipped_sigmoid", x, ClippedSigmoid{beta});
}

Tensor clipped_sigmoid_backward(const Tensor& grad, const Tensor& x, double beta, double clip) {
  expect_slope_and_clip("clipped_sigmoid_backward", beta, clip);
  return elementwise_backward("clipped_sigmoid_backward", grad, x, ClippedSigmoidBackward{beta, clip});
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("clipped_sigmoid", TORCH_BOX(&atlas::cuda::clipped_sigmoid));
  m.impl("clipped_sigmoid_backward", TORCH_BOX(&atlas::cuda::clipped_sigmoid_backward));
}
