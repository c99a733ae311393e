#include "checks/clipped_sigmoid.h"
#include "cpu/elementwise.h"
#include "cpu/instruction_set.h"
#include "math/clipped_sigmoid.h"

#define ATLAS_LOOPS "cpu/clipped_sigmoid_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
Tensor clipped_sigmoid(const Tensor& x, double beta, double clip) {
  expect_slope_and_clip("clipped_sigmoid", beta, clip);
  return elementwise("clipped_sigmoid", x, [=]<typename T>(const T* x, T* y, int64_t count) {
    ATLAS_DISPATCH(clipped_sigmoid<T>)(x, y, count, beta);
  });
}

Tensor clipped_sigmoid_backward(const Tensor& grad, const Tensor& x, double beta, double clip) {
  const char* op = "clipped_sigmoid_backward";
  expect_slope_and_clip(op, beta, clip);
  return elementwise_backward(op, grad, x, [=]<typename T>(const T* grad, const T* x, T* grad_x, int64_t count) {
    ATLAS_DISPATCH(clipped_sigmoid_backward<T>)(grad, x, grad_x, count, beta, clip);
  });
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("clipped_sigmoid", TORCH_BOX(&atlas::clipped_sigmoid));
  m.impl("clipped_sigmoid_backward", TORCH_BOX(&atlas::clipped_sigmoid_backward));
}
