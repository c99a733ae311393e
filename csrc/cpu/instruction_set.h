// Which variant of the loops runs: chosen once from what this CPU has, and lowerable for tests and comparisons.
#pragma once

#include <string>

namespace atlas {

enum class InstructionSet { baseline = 0, avx2 = 1, avx512 = 2 };

InstructionSet instruction_set();
std::string instruction_set_name(InstructionSet);

}  // namespace atlas

// ATLAS_DISPATCH(function<T>)(arguments): the variant of a function of ATLAS_LOOPS for the instruction set in use.
#if defined(__x86_64__)
#define ATLAS_DISPATCH(...)                                               \
  (::atlas::instruction_set() == ::atlas::InstructionSet::avx512          \
       ? ::atlas::avx512::__VA_ARGS__                                     \
       : ::atlas::instruction_set() == ::atlas::InstructionSet::avx2      \
             ? ::atlas::avx2::__VA_ARGS__                                 \
             : ::atlas::baseline::__VA_ARGS__)
#else
#define ATLAS_DISPATCH(...) (::atlas::baseline::__VA_ARGS__)
#endif
