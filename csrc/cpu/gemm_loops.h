// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

// Multiply-adds a thread takes at least, where they are bound by arithmetic and where by memory.
constexpr int64_t packed_grain = int64_t{1} << 18, vector_grain = int64_t{1} << 15;

#include "cpu/gemm_tile.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_vector.h"
#include "cpu/gemm_packed.h"
#include "cpu/gemm_ladder.h"

// Rounds the sums of one run of rows; c is contiguous.
template <typename T>
void round_sums(const float* sums, T* c, int64_t count) {
  narrow(sums, c, count);
}
