// One launch steps many tensors: a table of their addresses goes along as an argument, each block takes one piece of
// one tensor.
#pragma once

#include "cuda/arithmetic.h"
#include "math/optimizers.h"

namespace atlas::cuda {

constexpr int step_threads = 256;
constexpr int64_t piece = 4096;  // elements of a block

template <int lists>
struct StepTable {
  static constexpr int most = 64;  // with five lists 3.3 KiB; the arguments of a kernel may take 4
  void* data[lists][most];
  int64_t counts[most];
  int first_block[most + 1];
  int tensors;
};

struct SgdStep {
  template <typename A>
  using Factors = math::SgdFactors<A>;

  template <typename A>
  ATLAS_FN void operator()(const Factors<A>& by, A (&v)[2]) const {
    math::sgd(by, v[0], v[1]);
  }
  template <typename A>
  ATLAS_FN void operator()(const Factors<A>& by, A (&v)[3]) const {
    math::sgd_momentum(by, v[0], v[1], v[2]);
  }
};

struct AdamwStep {
  template <typename A>
  using Factors = math::AdamwFactors<A>;

  template <typename A>
  ATLAS_FN void operator()(const Factors<A>& by, A (&v)[4]) const {
    math::adamw(by, v[0], v[1], v[2], v[3]);
  }
  template <typename A>
  ATLAS_FN void operator()(const Factors<A>& by, A (&v)[5]) const {
    math::adamw_amsgrad(by, v[0], v[1], v[2], v[3], v[4]);
  }
};

// List 1, the gradients, is read only.
template <typename T, int lists, typename Step>
__global__ void step_kernel(StepTable<lists> table, typename Step::template Factors<arithmetic_t<T>> by) {
  using A = arithmetic_t<T>;
  int tensor = 0;
  while (static_cast<int>(blockIdx.x) >= table.first_block[tensor + 1]) {
    ++tensor;
  }
  const int64_t begin = (static_cast<int>(blockIdx.x) - table.first_block[tensor]) * piece;
  const int64_t count = table.counts[tensor];
  const int64_t end = begin + piece < count ? begin + piece : count;
  for (int64_t i = begin + threadIdx.x; i < end; i += step_threads) {
    A values[lists];
    for (int list = 0; list < lists; ++list) {
      values[list] = static_cast<A>(static_cast<const T*>(table.data[list][tensor])[i]);
    }
    Step{}(by, values);
    for (int list = 0; list < lists; ++list) {
      if (list != 1) {
        static_cast<T*>(table.data[list][tensor])[i] = static_cast<T>(values[list]);
      }
    }
  }
}

}  // namespace atlas::cuda
