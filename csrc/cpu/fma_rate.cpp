#include <atomic>

#include "cpu/arguments.h"
#include "cpu/instruction_set.h"
#include "math/numeric.h"

#define ATLAS_LOOPS "cpu/fma_rate_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {

// The ceiling for arithmetic: `rounds` rounds of multiply-adds on registers, on every thread PyTorch uses here, with
// the instruction set in use. Returns the floating-point operations done; the caller takes the time.
int64_t fma_rate(int64_t rounds, bool float64) {
  expect(rounds >= 1, "fma_rate: expected at least 1 round; received ", rounds);
  std::atomic<int64_t> flops{0};
  torch::stable::parallel_for(0, torch::stable::get_num_threads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      flops += float64 ? ATLAS_DISPATCH(multiply_add_registers<double>)(rounds)
                       : ATLAS_DISPATCH(multiply_add_registers<float>)(rounds);
    }
  });
  return flops;
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CompositeExplicitAutograd, m) {
  m.impl("fma_rate", TORCH_BOX(&atlas::fma_rate));
}
