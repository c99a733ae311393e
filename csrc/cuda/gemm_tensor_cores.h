// c = a b on tensor cores, by CUDA's own wmma: 16 x 16 x 16 products of 16-bit elements, summed in float.
// The host launcher has no tensor cores: this file is for nvcc only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "cuda/gemm_kernels.h"

namespace atlas::cuda {

template <typename T>
struct TensorCoreElement;
template <>
struct TensorCoreElement<c10::Half> {
  using type = __half;
};
template <>
struct TensorCoreElement<c10::BFloat16> {
  using type = __nv_bfloat16;
};

constexpr int fragment = 16;
constexpr int cores_tile = 64;   // of c per block: 2 x 2 warps, each 2 x 2 fragments
constexpr int cores_depth = 32;  // of k per round
constexpr int cores_threads = 128;

template <typename T>
__global__ __launch_bounds__(cores_threads, 4) void gemm_on_tensor_cores(Matrix<T> a, Matrix<T> b, T* c) {
  using E = typename TensorCoreElement<T>::type;
  namespace wmma = nvcuda::wmma;
  constexpr int pitch_a = cores_depth + 8, pitch_b = cores_tile + 8, pitch_c = cores_tile + 4;
  __shared__ __align__(32) E tile_a[cores_tile * pitch_a];
  __shared__ __align__(32) E tile_b[cores_depth * pitch_b];
  __shared__ __align__(32) float tile_c[cores_tile * pitch_c];
  const int64_t across = (b.columns + cores_tile - 1) / cores_tile;
  const int64_t top = blockIdx.x / across * cores_tile, left = blockIdx.x % across * cores_tile;
  const int warp_row = threadIdx.x / 64 * 32, warp_column = threadIdx.x / 32 % 2 * 32;
  const bool runs_a = a.rows_are_runs(), runs_b = b.rows_are_runs();

  wmma::fragment<wmma::accumulator, fragment, fragment, fragment, float> sums[2][2];
  for (int r = 0; r < 2; ++r) {
    for (int s = 0; s < 2; ++s) {
      wmma::fill_fragment(sums[r][s], 0.0f);
    }
  }
  for (int64_t k = 0; k < a.columns; k += cores_depth) {
    for (int i = threadIdx.x; i < cores_tile * cores_depth; i += cores_threads) {
      const int row = runs_a ? i / cores_depth : i % cores_tile, step_a = runs_a ? i % cores_depth : i / cores_tile;
      const int column = runs_b ? i % cores_tile : i / cores_depth, step_b = runs_b ? i / cores_tile : i % cores_depth;
      tile_a[row * pitch_a + step_a] = static_cast<E>(a.or_zero(top + row, k + step_a));
      tile_b[step_b * pitch_b + column] = static_cast<E>(b.or_zero(k + step_b, left + column));
    }
    __syncthreads();
    for (int step = 0; step < cores_depth; step += fragment) {
      wmma::fragment<wmma::matrix_a, fragment, fragment, fragment, E, wmma::row_major> from_a[2];
      wmma::fragment<wmma::matrix_b, fragment, fragment, fragment, E, wmma::row_major> from_b[2];
      for (int s = 0; s < 2; ++s) {
        wmma::load_matrix_sync(from_a[s], tile_a + (warp_row + s * fragment) * pitch_a + step, pitch_a);
        wmma::load_matrix_sync(from_b[s], tile_b + step * pitch_b + warp_column + s * fragment, pitch_b);
      }
      for (int r = 0; r < 2; ++r) {
        for (int s = 0; s < 2; ++s) {
          wmma::mma_sync(sums[r][s], from_a[r], from_b[s], sums[r][s]);
        }
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r) {
    for (int s = 0; s < 2; ++s) {
      float* corner = tile_c + (warp_row + r * fragment) * pitch_c + warp_column + s * fragment;
      wmma::store_matrix_sync(corner, sums[r][s], pitch_c, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < cores_tile * cores_tile; i += cores_threads) {
    const int row = i / cores_tile, column = i % cores_tile;
    if (top + row < a.rows && left + column < b.columns) {
      c[(top + row) * b.columns + left + column] = static_cast<T>(tile_c[row * pitch_c + column]);
    }
  }
}

}  // namespace atlas::cuda
