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

// Outputs that the level-2 cache of a core cannot keep until they are read.
inline bool exceeds_cache(const Tensor& output) {
  return static_cast<int64_t>(output.element_size()) * output.numel() >= (4 << 20);
}

// The few values of a row's weights, widened once instead of for every row; dense.
inline Tensor wide(const Tensor& parameter) {
  const ScalarType dtype = arithmetic_dtype(parameter);
  const Tensor same = parameter.scalar_type() == dtype ? parameter : torch::stable::to(parameter, dtype);
  return same.is_contiguous() ? same : torch::stable::contiguous(same);
}

// Rows whose shares of a sum over all rows are added up one after another. By the number of rows only, so
// that the order of every addition is the same for any number of threads.
inline int64_t rows_per_block(int64_t rows) {
  return std::clamp<int64_t>((rows + 63) / 64, 8, 256);
}

// The blocks' shares in order, in double.
template <typename T, typename A>
void add_blocks(const A* partial, int64_t blocks, int64_t apart, T* total, int64_t columns) {
  for (int64_t i = 0; i < columns; ++i) {
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      sum += static_cast<double>(partial[block * apart + i]);
    }
    total[i] = static_cast<T>(static_cast<A>(sum));
  }
}

}  // namespace atlas
