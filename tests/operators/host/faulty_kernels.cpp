// Kernels with the faults the launcher must not let pass, and their right forms; test_host_launcher.py runs each.
#include <algorithm>
#include <string>

#include "host_launcher.h"

namespace {

constexpr unsigned all = 0xffffffffu;

__global__ void right_block_sum(const double* x, double* sum, int count) {
  ATLAS_SHARED(double, partial, 8);
  double own = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    own += x[i];
  }
  for (int delta = 16; delta > 0; delta /= 2) {
    own += __shfl_down_sync(all, own, delta);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = own;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *sum = 0;
    for (int w = 0; w < static_cast<int>(blockDim.x) / 32; ++w) {
      *sum += partial[w];
    }
  }
}

__global__ void forgotten_barrier(const double* x, double* y) {
  ATLAS_SHARED(double, row, 64);
  row[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}

__global__ void overwritten_too_early(const double* x, double* y) {
  ATLAS_SHARED(double, row, 64);
  row[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = row[(threadIdx.x + 1) % blockDim.x];
  row[threadIdx.x] = y[threadIdx.x];
}

__global__ void barrier_in_a_branch(const double* x, double* y) {
  if (threadIdx.x < 40) {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void two_barriers_of_a_branch(const double* x, double* y) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void shuffle_after_a_return(const double* x, double* y) {
  if (threadIdx.x % 32 > 20) {
    return;
  }
  y[threadIdx.x] = __shfl_xor_sync(all, x[threadIdx.x], 1);
}

__global__ void one_past_the_end(const double* x, double* y) {
  ATLAS_SHARED(double, row, 63);
  row[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = row[threadIdx.x];
}

__global__ void never_written(const double*, double* y) {
  ATLAS_SHARED(double, row, 64);
  y[threadIdx.x] = row[threadIdx.x];
}

__global__ void reverse_by_warp(const double* x, double* y) {
  ATLAS_SHARED(double, row, 64);
  row[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = row[threadIdx.x ^ 31];
}

thread_local std::string message;

}  // namespace

// Runs the kernel of that name over one block of 64 threads; its fault in words, or "".
extern "C" __attribute__((visibility("default"))) const char* run(const char* name, const double* x, double* y, int count) {
  const std::string kernel = name;
  try {
    atlas::host::run_grid(1, kernel == "too_many_threads" ? 1025 : 64, [&] {
      kernel == "right_block_sum" ? right_block_sum(x, y, count)
          : kernel == "forgotten_barrier" ? forgotten_barrier(x, y)
          : kernel == "overwritten_too_early" ? overwritten_too_early(x, y)
          : kernel == "barrier_in_a_branch" ? barrier_in_a_branch(x, y)
          : kernel == "two_barriers_of_a_branch" ? two_barriers_of_a_branch(x, y)
          : kernel == "shuffle_after_a_return" ? shuffle_after_a_return(x, y)
          : kernel == "one_past_the_end" ? one_past_the_end(x, y)
          : kernel == "never_written" ? never_written(x, y)
          : reverse_by_warp(x, y);
    });
    message = "";
  } catch (const std::exception& error) {
    message = error.what();
  }
  return message.c_str();
}
