// Launching the elementwise kernel over tensors that share one dense layout.
#pragma once

#include "cuda/launch.h"

#include "cuda/elementwise_kernels.h"

namespace atlas::cuda {

constexpr int elementwise_threads = 256;
constexpr int64_t most_blocks = 16384;  // more only queue up: each thread then takes several packs

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
  const int64_t blocks = (items + elementwise_threads - 1) / elementwise_threads;
  launch(
      op, y, map_kernel<T, Map, decltype(inputs, T{})...>, dim3(static_cast<unsigned>(std::min(blocks, most_blocks))),
      elementwise_threads, map, write<T>(y), packs, count, read<T>(inputs)...);
}

}  // namespace atlas::cuda
