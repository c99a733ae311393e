// Operators whose every element stands alone: any shape, any strides, the result in x's layout.
#pragma once

#include "cpu/arguments.h"
#include "cpu/fresh_output.h"

namespace atlas {

// run(const T* x, T* y, int64_t count) over x as one run of memory, in parallel.
template <typename Run>
Tensor elementwise(const char* op, const Tensor& self, const Run& run) {
  expect_floating(op, "x", self);
  const Tensor x = dense(self);
  Tensor y = fresh_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    torch::stable::parallel_for(0, x.numel(), grain, [&](int64_t begin, int64_t end) {
      run(read<T>(x) + begin, write<T>(y) + begin, end - begin);
    });
  });
  return y;
}

// run(const T* grad, const T* x, T* grad_x, int64_t count), all three in x's layout.
template <typename Run>
Tensor elementwise_backward(const char* op, const Tensor& upstream, const Tensor& self, const Run& run) {
  expect_floating(op, "x", self);
  expect_same_dtype(op, "x", self, "grad", upstream);
  expect_same_shape(op, "x", self, "grad", upstream);
  const Tensor x = dense(self);
  const Tensor grad = in_layout_of(x, upstream);
  Tensor grad_x = fresh_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    torch::stable::parallel_for(0, x.numel(), grain, [&](int64_t begin, int64_t end) {
      run(read<T>(grad) + begin, read<T>(x) + begin, write<T>(grad_x) + begin, end - begin);
    });
  });
  return grad_x;
}

}  // namespace atlas
