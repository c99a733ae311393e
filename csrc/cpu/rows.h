// What operators over the rows of a matrix share.
#pragma once

#include <algorithm>

#include "cpu/arguments.h"

namespace atlas {

// Rows apart in memory are walked as they are; elements apart are copied.
inline Tensor with_dense_rows(const Tensor& x) {
  return x.size(1) <= 1 || x.stride(1) == 1 ? x : torch::stable::contiguous(x);
}

// Rows a thread takes at least.
inline int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, columns));
}

// What 16-bit values are computed and added up in.
inline ScalarType arithmetic_dtype(const Tensor& x) {
  return x.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

// The few values of a row's weights, widened once instead of for every row; dense.
inline Tensor wide(const Tensor& parameter) {
  return torch::stable::contiguous(torch::stable::to(parameter, arithmetic_dtype(parameter)));
}

}  // namespace atlas
