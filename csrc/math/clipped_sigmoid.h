// sigmoid(beta x), and its slope clipped to [-clip, clip]. Both from e = exp(-|beta x|) <= 1, so neither overflows and
// both tails keep their digits.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

template <typename T>
ATLAS_FN T exp_of_minus_magnitude(T t) {
  const T lowest = sizeof(T) == 4 ? T(-127) : T(-1080);  // exp2_in_range is 0 there
  t = (t < T(0) ? t : -t) * T(1.4426950408889634);
  return exp2_in_range(t < lowest ? lowest : t);
}

template <typename T>
ATLAS_FN T scaled_sigmoid(T x, T beta) {
  const T t = beta * x;
  const T e = exp_of_minus_magnitude(t);
  return (t < T(0) ? e : T(1)) / (T(1) + e);
}

template <typename T>
ATLAS_FN T clipped_sigmoid_slope(T x, T beta, T clip) {
  const T e = exp_of_minus_magnitude(beta * x);
  const T slope = beta * (e / ((T(1) + e) * (T(1) + e)));
  const T floored = slope < -clip ? -clip : slope;
  return floored > clip ? clip : floored;
}

}  // namespace atlas::math
