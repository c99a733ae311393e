// Rows of x are a value and a gate, `half` long each. A thread takes a pack of the result at a time; where halves do
// not fall on whole packs, `Width` is 1.
#pragma once

#include "cuda/arithmetic.h"
#include "math/gelu.h"

namespace atlas::cuda {

template <typename T, int Width>
struct alignas(sizeof(T) * Width) Run {
  T values[Width];
};

template <typename T, int Width>
__global__ void geglu_kernel(const T* x, T* y, int64_t half, int64_t count) {
  using A = arithmetic_t<T>;
  using R = Run<T, Width>;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * Width; i < count; i += threads * Width) {
    const T* row = x + i / half * half + i;  // 2 * half * (i / half) + i % half
    const R value = *reinterpret_cast<const R*>(row), gate = *reinterpret_cast<const R*>(row + half);
    R result;
    for (int k = 0; k < Width; ++k) {
      result.values[k] = static_cast<T>(
          static_cast<A>(value.values[k]) * math::gelu_tanh(static_cast<A>(gate.values[k])));
    }
    *reinterpret_cast<R*>(y + i) = result;
  }
}

template <typename T, int Width>
__global__ void geglu_backward_kernel(const T* grad, const T* x, T* grad_x, int64_t half, int64_t count) {
  using A = arithmetic_t<T>;
  using R = Run<T, Width>;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * Width; i < count; i += threads * Width) {
    const int64_t at = i / half * half + i;
    const R upstream = *reinterpret_cast<const R*>(grad + i);
    const R value = *reinterpret_cast<const R*>(x + at), gate = *reinterpret_cast<const R*>(x + at + half);
    R to_value, to_gate;
    for (int k = 0; k < Width; ++k) {
      const A u = static_cast<A>(upstream.values[k]), g = static_cast<A>(gate.values[k]);
      const auto gelu = math::gelu_tanh_and_derivative(g);
      to_value.values[k] = static_cast<T>(u * gelu.value);
      to_gate.values[k] = static_cast<T>(u * static_cast<A>(value.values[k]) * gelu.derivative);
    }
    *reinterpret_cast<R*>(grad_x + at) = to_value;
    *reinterpret_cast<R*>(grad_x + at + half) = to_gate;
  }
}

}  // namespace atlas::cuda
