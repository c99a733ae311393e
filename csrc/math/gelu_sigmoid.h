// What stands for the derivative in gelu_sigmoid: that of x * sigmoid(1.702 x), another approximation of GELU than the
// tanh form its forward takes.
#pragma once

#include "math/gelu.h"

namespace atlas::math {

// sigmoid(1.702 x) + 1.702 x sigmoid'(1.702 x); 1 - s as e * s keeps its digits where s is near 1.
template <typename T>
ATLAS_FN T gelu_sigmoid_slope(T x) {
  // 1.702 * log2(e) * the ends is just inside what exp2_in_range takes; the slope is 0 and 1 there.
  const T end = sizeof(T) == 4 ? T(51) : T(410);
  x = not_above(not_below(x, -end), end);
  const T e = exp2_in_range(x * T(-2.4554669595930156));
  const T s = T(1) / (T(1) + e);
  return s * (T(1) + T(1.702) * x * (e * s));
}

}  // namespace atlas::math
