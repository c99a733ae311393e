#pragma once

#include "arguments.h"

namespace atlas {

inline void expect_matrices(const Tensor& a, const Tensor& b) {
  expect_floating_dtype("gemm", "a", a);
  expect_floating_dtype("gemm", "b", b);
  expect_same_device("gemm", "a", a, "b", b);
  expect_same_dtype("gemm", "a", a, "b", b);
  expect(
      a.dim() == 2 && b.dim() == 2, "gemm: expected matrices a (M, K) and b (K, N); received shapes ", shape_text(a),
      " and ", shape_text(b));
  expect(
      a.size(1) == b.size(0), "gemm: expected b with as many rows as a has columns, ", a.size(1), "; received a ",
      shape_text(a), " and b ", shape_text(b));
}

}  // namespace atlas
