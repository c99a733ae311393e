#pragma once

#include <cmath>

#include "arguments.h"

namespace atlas {

inline void expect_slope_and_clip(const char* op, double beta, double clip) {
  expect(std::isfinite(beta), op, ": expected a finite beta; received ", beta);
  expect(clip >= 0, op, ": expected a clip of at least 0 (inf clips nothing); received ", clip);
}

}  // namespace atlas
