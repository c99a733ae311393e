#pragma once

#include "arguments.h"

namespace atlas {

inline void expect_matrix_and_weights(const char* op, const Tensor& x, const Tensor& weights) {
  expect_floating_dtype(op, "x", x);
  expect(x.dim() == 2, op, ": expected x of shape (rows, columns); received ", shape_text(x));
  expect_same_device(op, "x", x, "weights", weights);
  expect_same_dtype(op, "x", x, "weights", weights);
  expect(
      weights.dim() == 1 && weights.size(0) == x.size(1), op, ": expected weights of shape (", x.size(1),
      ",), one for each column of x ", shape_text(x), "; received ", shape_text(weights));
}

inline void expect_gradient_of_rows(const char* op, const Tensor& x, const Tensor& grad) {
  expect_same_device(op, "x", x, "grad", grad);
  expect_same_dtype(op, "x", x, "grad", grad);
  expect(
      grad.dim() == 1 && grad.size(0) == x.size(0), op, ": expected grad of shape (", x.size(0), ",); received ",
      shape_text(grad));
}

}  // namespace atlas
