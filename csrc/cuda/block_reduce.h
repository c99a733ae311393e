// A value of every thread combined over the block; all threads get it. The order is fixed, so results repeat.
#pragma once

#include "math/numeric.h"

namespace atlas::cuda {

constexpr unsigned whole_warp = 0xffffffffu;

struct Add {
  template <typename A>
  ATLAS_FN A operator()(A a, A b) const {
    return a + b;
  }
};

struct Larger {  // of a NaN and a number, the number: what NaN does to the result is the caller's matter
  template <typename A>
  ATLAS_FN A operator()(A a, A b) const {
    return b > a ? b : a;
  }
};

template <typename A, typename Combine>
__device__ A warp_reduce(A value, const Combine& combine) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(whole_warp, value, distance));
  }
  return value;
}

// blockDim.x is a multiple of 32; every thread of the block calls it.
template <typename A, typename Combine>
__device__ A block_reduce(A value, A neutral, const Combine& combine) {
  ATLAS_SHARED(A, of_warp, 32);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_reduce(value, combine);
  __syncthreads();  // what an earlier reduction put there has been read
  if (lane == 0) {
    of_warp[warp] = value;
  }
  __syncthreads();
  value = neutral;
  if (lane < warps) {
    value = of_warp[lane];
  }
  return warp_reduce(value, combine);
}

}  // namespace atlas::cuda
