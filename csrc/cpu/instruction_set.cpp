#include "cpu/instruction_set.h"

#include <atomic>
#include <optional>

#include "cpu/arguments.h"

namespace atlas {
namespace {

InstructionSet detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? InstructionSet::avx512 : avx2 ? InstructionSet::avx2 : InstructionSet::baseline;
#else
  return InstructionSet::baseline;
#endif
}

const InstructionSet best = detect();
std::atomic<InstructionSet> in_use{best};

// instruction_set(str? use=None) -> str: the set in use, after switching to `use` if given.
std::string report_or_use(std::optional<std::string> use) {
  if (use) {
    InstructionSet asked = InstructionSet::baseline;
    bool known = false;
    for (auto each : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
      if (instruction_set_name(each) == *use) {
        asked = each;
        known = true;
      }
    }
    expect(known, "instruction_set: expected baseline, avx2 or avx512; received ", *use);
    expect(
        asked <= best, "instruction_set: this CPU has no ", *use, "; the best it has is ", instruction_set_name(best));
    in_use = asked;
  }
  return instruction_set_name(in_use);
}

}  // namespace

InstructionSet instruction_set() {
  return in_use.load(std::memory_order_relaxed);
}

std::string instruction_set_name(InstructionSet set) {
  return set == InstructionSet::avx512 ? "avx512" : set == InstructionSet::avx2 ? "avx2" : "baseline";
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CompositeExplicitAutograd, m) {
  m.impl("instruction_set", TORCH_BOX(&atlas::report_or_use));
}
