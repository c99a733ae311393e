// Runs CUDA kernel bodies on the CPU, so that their indexing, barriers and reductions are executed without a GPU.
// Each thread of a block is a fiber; blocks run one after the other on the calling thread. Barriers and shuffles really
// wait. What a GPU would leave undefined throws instead: a barrier or shuffle that some threads do not reach, a shuffle
// with lanes that do not exist, shared memory read out of bounds, before it is written, or without a barrier.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "shared_memory.h"

#define ATLAS_HOST_LAUNCHER 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace atlas::host {

// Where a thread stands; set by the scheduler before it runs.
struct Position {
  dim3 thread, block, threads, blocks;
};
const Position& position();

// Source place of a barrier or shuffle: all threads that meet must meet at the same one.
struct Place {
  const char* file;
  int line;
};
void block_barrier(Place place);
void warp_barrier(uint32_t mask, Place place);
// What the lane named by `source(own lane)` passed to the same call; lanes outside the warp give back the own value.
uint64_t exchange(uint32_t mask, uint64_t value, int source, Place place);
int lane();

// body() once per thread of the grid. Raises std::runtime_error with the first fault found.
void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& body);

template <typename T>
T shuffle(uint32_t mask, T value, int source, Place place) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = exchange(mask, word, source, place);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

}  // namespace atlas::host

constexpr int warpSize = 32;
#define threadIdx (::atlas::host::position().thread)
#define blockIdx (::atlas::host::position().block)
#define blockDim (::atlas::host::position().threads)
#define gridDim (::atlas::host::position().blocks)
#define ATLAS_PLACE (::atlas::host::Place{__FILE__, __LINE__})
#define __syncthreads() ::atlas::host::block_barrier(ATLAS_PLACE)
#define __syncwarp() ::atlas::host::warp_barrier(0xffffffffu, ATLAS_PLACE)
#define __shfl_sync(mask, value, source) ::atlas::host::shuffle(mask, value, source, ATLAS_PLACE)
#define __shfl_down_sync(mask, value, delta) \
  ::atlas::host::shuffle(mask, value, ::atlas::host::lane() + (delta), ATLAS_PLACE)
#define __shfl_xor_sync(mask, value, bits) \
  ::atlas::host::shuffle(mask, value, ::atlas::host::lane() ^ (bits), ATLAS_PLACE)

template <typename T>
T atomicAdd(T* address, T value) {  // fibers of one thread: nothing else runs meanwhile
  const T before = *address;
  *address = before + value;
  return before;
}
