#include "cpu/elementwise.h"
#include "cpu/instruction_set.h"
#include "math/gelu_sigmoid.h"

#define ATLAS_LOOPS "cpu/gelu_sigmoid_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {

Tensor gelu_sigmoid(const Tensor& x) {
  return elementwise("gelu_sigmoid", x, []<typename T>(const T* x, T* y, int64_t count) {
    ATLAS_DISPATCH(gelu_sigmoid<T>)(x, y, count);
  });
}

Tensor gelu_sigmoid_backward(const Tensor& grad, const Tensor& x) {
  return elementwise_backward(
      "gelu_sigmoid_backward", grad, x, []<typename T>(const T* grad, const T* x, T* grad_x, int64_t count) {
        ATLAS_DISPATCH(gelu_sigmoid_backward<T>)(grad, x, grad_x, count);
      });
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("gelu_sigmoid", TORCH_BOX(&atlas::gelu_sigmoid));
  m.impl("gelu_sigmoid_backward", TORCH_BOX(&atlas::gelu_sigmoid_backward));
}
