// Launching the elementwise kernel over tensors that share one dense layout.
#pragma once

#include "cuda/launch.h"

#include <algorithm>

#include "cuda/elementwise_kernels.h"

namespace atlas::cuda {

constexpr int elementwise_threads = 256;
constexpr int64_t most_blocks = 16384;  // more only queue up: each thread then takes several packs

inline dim3 blocks_for(int64_t items) {
  return dim3(static_cast<unsigned>(std::min((items + elementwise_threads - 1) / elementwise_threads, most_blocks)));
}

inline bool on_16_bytes(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

template <typename T, typename Map, typename... Inputs>
void map_values(const char* op, const Map& map, const Tensor& y, const Inputs&... inputs) {
  const int64_t count = y.numel();
  if (count == 0) {
    return;
  }
  const bool aligned = (on_16_bytes(y.const_data_ptr()) && ... && on_16_bytes(inputs.const_data_ptr()));
  const int64_t packs = aligned ? count / Pack<T>::size : 0;
  const int64_t items = aligned ? packs + Pack<T>::size : count;
  launch(
      op, y, map_kernel<T, Map, decltype(inputs, T{})...>, blocks_for(items), elementwise_threads, map, write<T>(y),
      packs, count, read<T>(inputs)...);
}

// map(x) of every element, in x's layout.
template <typename Map>
Tensor elementwise(const char* op, const Tensor& self, const Map& map) {
  expect_floating(op, "x", self);
  const Tensor x = dense(self);
  Tensor y = torch::stable::empty_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) { map_values<decltype(zero)>(op, map, y, x); });
  return y;
}

// map(grad, x) of every element, in x's layout.
template <typename Map>
Tensor elementwise_backward(const char* op, const Tensor& upstream, const Tensor& self, const Map& map) {
  expect_floating(op, "x", self);
  expect_like(op, "x", self, "grad", upstream);
  const Tensor x = dense(self);
  const Tensor grad = in_layout_of(x, upstream);
  Tensor grad_x = torch::stable::empty_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) { map_values<decltype(zero)>(op, map, grad_x, grad, x); });
  return grad_x;
}

}  // namespace atlas::cuda
