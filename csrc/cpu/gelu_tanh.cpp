#include "cpu/elementwise.h"
#include "cpu/instruction_set.h"
#include "math/gelu.h"

#define ATLAS_LOOPS "cpu/gelu_tanh_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {

Tensor gelu_tanh(const Tensor& x) {
  return elementwise("gelu_tanh", x, []<typename T>(const T* x, T* y, int64_t count) {
    ATLAS_DISPATCH(gelu_tanh<T>)(x, y, count);
  });
}

Tensor gelu_tanh_backward(const Tensor& grad, const Tensor& x) {
  return elementwise_backward(
      "gelu_tanh_backward", grad, x, []<typename T>(const T* grad, const T* x, T* grad_x, int64_t count) {
        ATLAS_DISPATCH(gelu_tanh_backward<T>)(grad, x, grad_x, count);
      });
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("gelu_tanh", TORCH_BOX(&atlas::gelu_tanh));
  m.impl("gelu_tanh_backward", TORCH_BOX(&atlas::gelu_tanh_backward));
}
