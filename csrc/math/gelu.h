// GELU in its tanh form: x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3); 0.5 (1 + tanh u) = sigmoid(2u).
// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

// Where sigmoid(2u) has become 0 (`lowest`: e^-2u is infinite) or 1. Beyond, the values at these ends are the limits,
// and clamping x there keeps x^2 finite and 2^t in its range.
template <typename T>
struct GeluRange {
  static constexpr T lowest = sizeof(T) == 4 ? T(-10.06) : T(-22);
  static constexpr T highest = sizeof(T) == 4 ? T(10) : T(21);
  static constexpr T largest_finite = std::numeric_limits<T>::max();
};

template <typename T>
ATLAS_FN T not_below(T x, T lowest) {
  return x < lowest ? lowest : x;
}

template <typename T>
ATLAS_FN T not_above(T x, T highest) {
  return x > highest ? highest : x;
}

// e^-2u; the constants are those of 2u times log2(e).
template <typename T>
ATLAS_FN T gelu_tanh_exponential(T x) {
  return exp2_in_range(x * (T(-2.302208198144325) + T(-0.1029432395800235) * (x * x)));
}

template <typename T>
ATLAS_FN T gelu_tanh(T x) {
  x = not_below(x, GeluRange<T>::lowest);
  return x / (T(1) + gelu_tanh_exponential(not_above(x, GeluRange<T>::highest)));
}

template <typename T>
struct ValueAndDerivative {
  T value, derivative;
};

// gelu_tanh and its true derivative from one exponential. 1 - s as e * s keeps its digits where s is near 1; e must be
// finite for that.
template <typename T>
ATLAS_FN ValueAndDerivative<T> gelu_tanh_and_derivative(T x) {
  x = not_below(x, GeluRange<T>::lowest);
  const T inside = not_above(x, GeluRange<T>::highest);
  const T twice_du = T(1.5957691216057308) + T(0.21406444881780073) * (inside * inside);
  const T e = gelu_tanh_exponential(inside);
  const T s = T(1) / (T(1) + e);
  const T one_minus_s = not_above(e, GeluRange<T>::largest_finite) * s;
  return {x * s, s * (T(1) + inside * twice_du * one_minus_s)};
}

template <typename T>
ATLAS_FN T gelu_tanh_derivative(T x) {
  return gelu_tanh_and_derivative(x).derivative;
}

}  // namespace atlas::math
