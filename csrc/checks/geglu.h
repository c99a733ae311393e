#pragma once

#include <algorithm>
#include <vector>

#include "arguments.h"

namespace atlas {

// The shape of geglu's result: x's, its last dimension halved.
inline std::vector<int64_t> halved(const char* op, const Tensor& x) {
  expect_floating_dtype(op, "x", x);
  expect(
      x.dim() > 0 && x.size(-1) % 2 == 0, op, ": expected x with an even last dimension, value and gate; received ",
      shape_text(x));
  std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end());
  shape.back() /= 2;
  return shape;
}

inline std::vector<int64_t> halved(const char* op, const Tensor& x, const Tensor& grad) {
  const auto shape = halved(op, x);
  expect_same_device(op, "x", x, "grad", grad);
  expect_same_dtype(op, "x", x, "grad", grad);
  expect(
      grad.dim() == x.dim() && std::equal(shape.begin(), shape.end(), grad.sizes().begin()), op,
      ": expected grad of half x's last dimension, x ", shape_text(x), "; received ", shape_text(grad));
  return shape;
}

}  // namespace atlas
