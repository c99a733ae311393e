// Sums over the rows of a (rows, columns) quantity, column by column, without atomics, so that they repeat: first over
// parts of the rows, then over the parts, in double.
#pragma once

#include "cuda/arithmetic.h"
#include "cuda/block_reduce.h"

namespace atlas::cuda {

constexpr int strip = 32;          // columns of a block
constexpr int strip_walkers = 8;   // threads that share a column

// A tensor's own values, for part_sums.
template <typename T>
struct Stored {
  const T* values;
  int64_t columns;

  ATLAS_FN arithmetic_t<T> operator()(int64_t row, int64_t column) const {
    return static_cast<arithmetic_t<T>>(values[row * columns + column]);
  }
};

// of_parts (parts, columns); block (strip, part). value(row, column) -> A.
template <typename A, typename Value>
__global__ void part_sums(Value value, A* of_parts, int64_t rows, int64_t columns, int64_t rows_of_each) {
  ATLAS_SHARED(A, sums, strip_walkers * (strip + 1));
  const int x = threadIdx.x % strip, y = threadIdx.x / strip;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * strip + x;
  const int64_t begin = blockIdx.y * rows_of_each;
  const int64_t end = begin + rows_of_each < rows ? begin + rows_of_each : rows;
  A sum = 0;
  if (column < columns) {
    for (int64_t row = begin + y; row < end; row += strip_walkers) {
      sum += value(row, column);
    }
  }
  sums[y * (strip + 1) + x] = sum;
  __syncthreads();
  if (y == 0 && column < columns) {
    for (int walker = 1; walker < strip_walkers; ++walker) {
      sum += sums[walker * (strip + 1) + x];
    }
    of_parts[blockIdx.y * columns + column] = sum;
  }
}

// total[column] = the parts' sum; a thread per column.
template <typename T, typename A>
__global__ void add_parts(const A* of_parts, T* total, int64_t parts, int64_t columns) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column < columns) {
    double sum = 0;
    for (int64_t part = 0; part < parts; ++part) {
      sum += static_cast<double>(of_parts[part * columns + column]);
    }
    total[column] = static_cast<T>(static_cast<A>(sum));
  }
}

// total[0] = the sum of everything; one block.
template <typename T, typename A>
__global__ void add_everything(const A* of_parts, T* total, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    sum += static_cast<double>(of_parts[i]);
  }
  sum = block_reduce(sum, 0.0, Add{});
  if (threadIdx.x == 0) {
    total[0] = static_cast<T>(static_cast<A>(sum));
  }
}

}  // namespace atlas::cuda
