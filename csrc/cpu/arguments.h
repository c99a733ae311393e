// The arguments of CPU operators.
#pragma once

#include "../arguments.h"  // not this one

namespace atlas {

// Raise unless x is a strided CPU tensor of a floating dtype.
inline void expect_floating(const char* op, const char* argument, const Tensor& x) {
  expect(x.is_cpu(), op, ": expected ", argument, " on the CPU; received a tensor on another device");
  expect_floating_dtype(op, argument, x);
}

// Elements a thread takes at least; below it starting a thread costs more than the work.
constexpr int64_t grain = 32768;

}  // namespace atlas
