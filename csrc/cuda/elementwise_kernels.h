// y[i] = map(inputs[i]...), each in the arithmetic type: the kernel of every operator whose elements stand alone.
// Bound by memory, so it moves 16 bytes at a time; what is left over after the last whole pack goes one by one.
#pragma once

#include "cuda/arithmetic.h"

namespace atlas::cuda {

template <typename T, typename Map, typename... Inputs>
__global__ void map_kernel(Map map, T* y, int64_t packs, int64_t count, const Inputs*... inputs) {
  using A = arithmetic_t<T>;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < packs; i += threads) {
    const auto map_pack = [&](const Pack<Inputs>&... pack) {
      Pack<T> result;
      for (int k = 0; k < Pack<T>::size; ++k) {
        result.values[k] = static_cast<T>(map(static_cast<A>(pack.values[k])...));
      }
      return result;
    };
    reinterpret_cast<Pack<T>*>(y)[i] = map_pack(reinterpret_cast<const Pack<Inputs>*>(inputs)[i]...);
  }
  for (int64_t i = packs * Pack<T>::size + first; i < count; i += threads) {
    y[i] = static_cast<T>(map(static_cast<A>(inputs[i])...));
  }
}

}  // namespace atlas::cuda
