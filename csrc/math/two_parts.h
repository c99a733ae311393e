// A statistic of a row kept in float64 and taken off in two steps: one float keeps too few digits of a mean in the
// thousands for what is left after subtracting it.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

template <typename T>
struct TwoParts {
  T high;
  T low;
};

template <typename T>
ATLAS_FN TwoParts<T> two_parts(double value) {
  const T high = static_cast<T>(value);
  const bool finite = high - high == T(0);
  return {high, finite ? static_cast<T>(value - static_cast<double>(high)) : T(0)};
}

template <typename T>
ATLAS_FN T minus(T x, TwoParts<T> statistic) {
  return (x - statistic.high) - statistic.low;
}

}  // namespace atlas::math
