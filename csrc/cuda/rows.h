// Operators over rows: one block walks a row.
#pragma once

#include "cuda/launch.h"

#include <algorithm>

namespace atlas::cuda {

// Rows apart in memory are walked as they are; elements apart are copied.
inline Tensor with_dense_rows(const Tensor& x) {
  return x.size(1) <= 1 || x.stride(1) == 1 ? x : torch::stable::contiguous(x);
}

inline dim3 blocks_of_rows(int64_t rows) {
  return dim3(static_cast<unsigned>(std::min<int64_t>(rows, 1 << 20)));
}

// Whole warps, about four elements a thread.
inline dim3 threads_of_row(int64_t length) {
  return dim3(static_cast<unsigned>(std::clamp<int64_t>((length / 4 + 31) / 32 * 32, 32, 512)));
}

inline ScalarType arithmetic_dtype(const Tensor& x) {
  return x.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

}  // namespace atlas::cuda
