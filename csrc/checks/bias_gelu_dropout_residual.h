#pragma once

#include "arguments.h"

namespace atlas {

inline void expect_bias_and_dropout(
    const char* op, const Tensor& x, const Tensor& bias, double p, const Tensor& seed) {
  expect_floating_dtype(op, "x", x);
  expect_same_device(op, "x", x, "bias", bias);
  expect_same_dtype(op, "x", x, "bias", bias);
  const int64_t columns = x.dim() > 0 ? x.size(-1) : 1;
  expect(
      bias.dim() <= 1 && (bias.numel() == columns || bias.numel() == 1), op,
      ": expected bias of x's last dimension or of one element, x ", shape_text(x), "; received ", shape_text(bias));
  expect(p >= 0 && p <= 1, op, ": expected p from 0 to 1; received ", p);
  expect_same_device(op, "x", x, "seed", seed);
  expect(
      seed.scalar_type() == ScalarType::Long && seed.numel() == 1, op,
      ": expected seed as one int64 beside x; received ", dtype_text(seed.scalar_type()), " ", shape_text(seed));
}

}  // namespace atlas
