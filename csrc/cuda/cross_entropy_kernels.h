// One block per row of logits, in one pass over it forward (two with label smoothing) and one backward.
#pragma once

#include "cuda/arithmetic.h"
#include "cuda/block_reduce.h"
#include "math/cross_entropy.h"

namespace atlas::cuda {

// A running maximum and the sum of exp(x - maximum) below it: two such join into one.
template <typename A>
struct RunningSum {
  A largest, sum;
};

// Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
template <typename A>
ATLAS_FN void add_exponential(RunningSum<A>& running, A x, A lowest) {
  if (x > running.largest) {
    running.sum = running.sum * math::exp_not_positive(running.largest - x) + A(1);
    running.largest = x;
  } else {
    running.sum += x == lowest ? A(0) : math::exp_not_positive(x - running.largest);  // NaN stays
  }
}

// Of a row, in all threads.
template <typename A>
__device__ math::Normalizer row_normalizer(RunningSum<A> own, A lowest) {
  const A largest = block_reduce(own.largest, lowest, Larger{});
  const A rescaled = own.largest == largest ? own.sum : own.sum * math::exp_not_positive(own.largest - largest);
  const double sum = block_reduce(static_cast<double>(rescaled), 0.0, Add{});
  const double nothing = static_cast<double>(largest) - static_cast<double>(largest);  // 0, or NaN where infinite
  return {static_cast<double>(largest), sum + nothing};
}

template <typename T>
__global__ void cross_entropy_kernel(
    const T* logits, const int64_t* target, arithmetic_t<T>* losses, math::Normalizer* normalizers, int64_t rows,
    int64_t classes, int64_t row_stride, double smoothing, int64_t ignore_index) {
  using A = arithmetic_t<T>;
  const A lowest = -std::numeric_limits<A>::infinity();
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t wanted = target[row];
    if (wanted == ignore_index) {  // the same for the whole block
      if (threadIdx.x == 0) {
        losses[row] = A(0);
        normalizers[row] = {0, 0};
      }
      continue;
    }
    const T* x = logits + row * row_stride;
    RunningSum<A> own{lowest, A(0)};
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) {
      add_exponential(own, static_cast<A>(x[i]), lowest);
    }
    const math::Normalizer normalizer = row_normalizer(own, lowest);
    double below = 0;
    if (smoothing != 0) {  // once more over the row, which the cache holds: a sum of x would lose to a large offset
      for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) {
        below += static_cast<double>(x[i]) - normalizer.largest;
      }
      below = block_reduce(below, 0.0, Add{});
    }
    if (threadIdx.x == 0) {
      // A class that is none cannot be told to the host without waiting for the GPU: its loss is NaN.
      const bool known = wanted >= 0 && wanted < classes;
      const double at = known ? static_cast<double>(x[wanted]) : std::numeric_limits<double>::quiet_NaN();
      normalizers[row] = normalizer;
      losses[row] = static_cast<A>(math::cross_entropy_loss(
          normalizer.sum, at - normalizer.largest, below / static_cast<double>(classes), smoothing));
    }
  }
}

// grad * (softmax - target distribution).
template <typename T>
__global__ void cross_entropy_backward_kernel(
    const arithmetic_t<T>* grad, const T* logits, const int64_t* target, const math::Normalizer* normalizers,
    T* grad_logits, int64_t rows, int64_t classes, int64_t row_stride, double smoothing, int64_t ignore_index) {
  using A = arithmetic_t<T>;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t wanted = target[row];
    const bool ignored = wanted == ignore_index;
    const T* x = logits + row * row_stride;
    const bool known = wanted >= 0 && wanted < classes;
    const A scale = known ? grad[row] : std::numeric_limits<A>::quiet_NaN();
    const math::ScaledSoftmax<A> softmax(normalizers[row], scale);
    const A at_class = scale * static_cast<A>(1.0 - smoothing);
    const A shift = scale * static_cast<A>(smoothing / static_cast<double>(classes));
    for (int64_t i = threadIdx.x; i < classes; i += blockDim.x) {
      const A softmax_here = softmax(static_cast<A>(x[i]));
      grad_logits[row * classes + i] = static_cast<T>(
          ignored ? A(0) : (i == wanted ? softmax_here - at_class : softmax_here) - shift);
    }
  }
}

}  // namespace atlas::cuda
