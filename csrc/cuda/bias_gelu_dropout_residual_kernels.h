// Four elements a thread, 16 apart: they share one Philox counter, and half a warp still reads a run.
#pragma once

#include "cuda/arithmetic.h"
#include "math/gelu.h"
#include "math/philox.h"

namespace atlas::cuda {

// x seen as rows of `columns`; a bias of one element repeats (bias_step 0).
template <typename T>
struct BiasedDropout {
  const T* x;
  const T* bias;
  const int64_t* seed;
  int64_t columns, bias_step, count;
  math::Dropout dropout;  // its seed is read on the device, so that the host need not wait for it

  // each(element, x + bias, scale or 0) over this thread's elements.
  template <typename Each>
  ATLAS_FN void for_each(int64_t thread, int64_t threads, const Each& each) const {
    using A = arithmetic_t<T>;
    constexpr int64_t lanes = math::random_lanes, block = math::random_block;
    const A scale = static_cast<A>(dropout.scale);
    const uint64_t key = static_cast<uint64_t>(*seed);
    for (int64_t counter = thread; counter / lanes * block < count; counter += threads) {
      const auto words = math::philox(static_cast<uint64_t>(counter), key);
      for (int part = 0; part < 4; ++part) {
        const int64_t i = counter / lanes * block + part * lanes + counter % lanes;
        if (i < count) {
          const A shifted = static_cast<A>(x[i]) + static_cast<A>(bias[i % columns * bias_step]);
          each(i, shifted, words.word[part] >= dropout.threshold ? scale : A(0));
        }
      }
    }
  }
};

template <typename T>
__global__ void bias_gelu_dropout_residual_kernel(BiasedDropout<T> at, const T* residual, T* y) {
  using A = arithmetic_t<T>;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  at.for_each(thread, static_cast<int64_t>(gridDim.x) * blockDim.x, [&](int64_t i, A shifted, A keep) {
    const A kept = keep * math::gelu_tanh(shifted);
    y[i] = static_cast<T>(static_cast<A>(residual[i]) + (keep != A(0) ? kept : A(0)));
  });
}

template <typename T>
__global__ void bias_gelu_dropout_residual_backward_kernel(BiasedDropout<T> at, const T* grad, T* grad_x) {
  using A = arithmetic_t<T>;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  at.for_each(thread, static_cast<int64_t>(gridDim.x) * blockDim.x, [&](int64_t i, A shifted, A keep) {
    const A kept = static_cast<A>(grad[i]) * keep * math::gelu_tanh_derivative(shifted);
    grad_x[i] = static_cast<T>(keep != A(0) ? kept : A(0));
  });
}

}  // namespace atlas::cuda
