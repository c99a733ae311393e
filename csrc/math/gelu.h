// GELU in its tanh form: x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3); 0.5 (1 + tanh u) = sigmoid(2u).
// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

template <typename T>
ATLAS_FN T gelu_tanh(T x) {
  const T twice_u = T(1.5957691216057308) * x * (T(1) + T(0.044715) * x * x);
  return x * sigmoid(twice_u);
}

// d gelu_tanh / dx, the true one. 1 - s as e * s keeps its digits where s is near 1; e stays finite for that.
template <typename T>
ATLAS_FN T gelu_tanh_derivative(T x) {
  const T square = x * x;
  const T minus_twice_u = T(-1.5957691216057308) * x * (T(1) + T(0.044715) * square);
  const T twice_du = T(1.5957691216057308) * (T(1) + T(0.134145) * square);
  const T e = exp(minus_twice_u > T(80) ? T(80) : minus_twice_u);
  const T s = T(1) / (T(1) + e);
  return s + x * s * (e * s) * twice_du;
}

}  // namespace atlas::math
