// c = a b, one kernel per rung: what changes is where operands are read from, and how often.
#pragma once

#include "cuda/arithmetic.h"

namespace atlas::cuda {

// Elements at row i, column j through any strides; outside, zero.
template <typename T>
struct Matrix {
  const T* data;
  int64_t rows, columns, row_stride, column_stride;

  ATLAS_FN T at(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
  ATLAS_FN T or_zero(int64_t i, int64_t j) const { return i < rows && j < columns ? at(i, j) : T(0); }
  ATLAS_FN bool rows_are_runs() const { return column_stride == 1 || row_stride != 1; }
};

constexpr int gemm_threads = 256;
constexpr int square = 16;  // a block's tile of c in the first three rungs: one element a thread

// One thread per element of c. `along_rows`: neighbouring threads take neighbouring rows, so that a warp's reads of a
// are a stride apart (naive); otherwise neighbouring columns, whose reads of b fall together (the loop order ikj).
template <typename T, bool along_rows>
__global__ void gemm_by_element(Matrix<T> a, Matrix<T> b, T* c) {
  using A = arithmetic_t<T>;
  const int64_t across = (b.columns + square - 1) / square;
  const int x = threadIdx.x % square, y = threadIdx.x / square;
  const int64_t i = blockIdx.x / across * square + (along_rows ? x : y);
  const int64_t j = blockIdx.x % across * square + (along_rows ? y : x);
  if (i >= a.rows || j >= b.columns) {
    return;
  }
  A sum = 0;
  for (int64_t k = 0; k < a.columns; ++k) {
    sum += static_cast<A>(a.at(i, k)) * static_cast<A>(b.at(k, j));
  }
  c[i * b.columns + j] = static_cast<T>(sum);
}

// A block brings square tiles of a and b into shared memory: each element is read from memory 1 / 16 as often.
template <typename T>
__global__ void gemm_tiled(Matrix<T> a, Matrix<T> b, T* c) {
  using A = arithmetic_t<T>;
  ATLAS_SHARED(A, tile_a, square * (square + 1));
  ATLAS_SHARED(A, tile_b, square * (square + 1));
  const int64_t across = (b.columns + square - 1) / square;
  const int64_t top = blockIdx.x / across * square, left = blockIdx.x % across * square;
  const int x = threadIdx.x % square, y = threadIdx.x / square;
  A sum = 0;
  for (int64_t k = 0; k < a.columns; k += square) {
    tile_a[y * (square + 1) + x] = static_cast<A>(a.or_zero(top + y, k + x));
    tile_b[y * (square + 1) + x] = static_cast<A>(b.or_zero(k + y, left + x));
    __syncthreads();
    for (int step = 0; step < square; ++step) {
      sum += tile_a[y * (square + 1) + step] * tile_b[step * (square + 1) + x];
    }
    __syncthreads();
  }
  if (top + y < a.rows && left + x < b.columns) {
    c[(top + y) * b.columns + left + x] = static_cast<T>(sum);
  }
}

// Each thread keeps side x side sums in registers: 2 * side reads of shared memory for side * side multiply-adds.
// 16 x 16 threads; thread (x, y) owns rows y, y + 16, ... and columns x, x + 16, ..., so that a warp reads b in a run.
template <typename T, int side>
__global__ __launch_bounds__(gemm_threads) void gemm_packed(Matrix<T> a, Matrix<T> b, T* c) {
  using A = arithmetic_t<T>;
  constexpr int tile = 16 * side, depth = 8, pitch = tile + 1;
  ATLAS_SHARED(A, panel_a, depth * pitch);  // (k, row): the transpose of a's tile
  ATLAS_SHARED(A, panel_b, depth * pitch);  // (k, column)
  const int64_t across = (b.columns + tile - 1) / tile;
  const int64_t top = blockIdx.x / across * tile, left = blockIdx.x % across * tile;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const bool runs_a = a.rows_are_runs(), runs_b = b.rows_are_runs();
  A sums[side][side] = {};
  for (int64_t k = 0; k < a.columns; k += depth) {
    for (int i = threadIdx.x; i < tile * depth; i += gemm_threads) {
      const int row = runs_a ? i / depth : i % tile, step_a = runs_a ? i % depth : i / tile;
      const int column = runs_b ? i % tile : i / depth, step_b = runs_b ? i / tile : i % depth;
      panel_a[step_a * pitch + row] = static_cast<A>(a.or_zero(top + row, k + step_a));
      panel_b[step_b * pitch + column] = static_cast<A>(b.or_zero(k + step_b, left + column));
    }
    __syncthreads();
    for (int step = 0; step < depth; ++step) {
      A from_a[side], from_b[side];
      for (int s = 0; s < side; ++s) {
        from_a[s] = panel_a[step * pitch + y + 16 * s];
        from_b[s] = panel_b[step * pitch + x + 16 * s];
      }
      for (int r = 0; r < side; ++r) {
        for (int s = 0; s < side; ++s) {
          sums[r][s] += from_a[r] * from_b[s];
        }
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < side; ++r) {
    for (int s = 0; s < side; ++s) {
      const int64_t i = top + y + 16 * r, j = left + x + 16 * s;
      if (i < a.rows && j < b.columns) {
        c[i * b.columns + j] = static_cast<T>(sums[r][s]);
      }
    }
  }
}

}  // namespace atlas::cuda
