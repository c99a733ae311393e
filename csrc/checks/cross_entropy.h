#pragma once

#include "arguments.h"

namespace atlas {

inline void expect_rows_and_classes(const char* op, const Tensor& logits, const Tensor& target, double smoothing) {
  expect_floating_dtype(op, "logits", logits);
  expect(logits.dim() == 2, op, ": expected logits of shape (rows, classes); received ", shape_text(logits));
  expect_same_device(op, "logits", logits, "target", target);
  expect(
      target.scalar_type() == ScalarType::Long, op, ": expected target of dtype int64, a class per row; received ",
      dtype_text(target.scalar_type()));
  expect(
      target.dim() == 1 && target.size(0) == logits.size(0), op, ": expected target of shape (", logits.size(0),
      ",), a class per row of logits ", shape_text(logits), "; received ", shape_text(target));
  expect(smoothing >= 0 && smoothing <= 1, op, ": expected label_smoothing between 0 and 1; received ", smoothing);
}

// What the forward handed on: two numbers per row in double, and a gradient per row in the type of arithmetic.
inline void expect_saved_rows(
    const char* op, const Tensor& target, const Tensor& grad, const Tensor& normalizer, ScalarType arithmetic) {
  expect_same_device(op, "target", target, "grad", grad);
  expect_same_device(op, "target", target, "normalizer", normalizer);
  expect_same_shape(op, "target", target, "grad", grad);
  expect(
      normalizer.dim() == 2 && normalizer.size(0) == target.size(0) && normalizer.size(1) == 2, op,
      ": expected normalizer of shape (", target.size(0), ", 2), as the forward gives it; received ",
      shape_text(normalizer));
  expect(
      grad.scalar_type() == arithmetic, op, ": expected grad of dtype ", dtype_text(arithmetic), "; received ",
      dtype_text(grad.scalar_type()));
  expect(
      normalizer.scalar_type() == ScalarType::Double, op, ": expected normalizer of dtype float64; received ",
      dtype_text(normalizer.scalar_type()));
}

}  // namespace atlas
