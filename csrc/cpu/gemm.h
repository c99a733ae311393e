// What the rungs of gemm share: a matrix as they read it, through strides, and the memory they pack into.
#pragma once

#include <cstdint>

namespace atlas {

template <typename T>
struct MatrixView {
  T* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;  // elements
};

// Bytes of this machine's L2 cache, one core's.
int64_t l2_cache_bytes();

// This thread's own block of at least `bytes`, aligned to a page, in huge pages where it is large. What it holds is
// kept until the next call of the same thread and place; it is freed with the thread.
enum class PackedSide { left, right };
void* pack_buffer(PackedSide side, int64_t bytes);

}  // namespace atlas
