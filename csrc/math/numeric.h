// Scalar building blocks, one text for host and device. Branch-free, so that a host loop over them vectorises.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__CUDACC__)
#define ATLAS_FN __host__ __device__ __forceinline__
#else
#define ATLAS_FN inline __attribute__((always_inline))
#endif

namespace atlas::math {

template <typename To, typename From>
ATLAS_FN To bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof(To));
  return result;
}

// e^x by 2^n * e^r, |r| <= ln(2) / 2; within 1 ulp. 2^n is applied in two halves, so that neither overflows early nor
// loses subnormals. Adding `round` leaves the integer n in the low bits of the sum. NaN passes through.
ATLAS_FN float exp(float x) {
#if defined(__CUDA_ARCH__)
  return ::expf(x);
#else
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const float round = 12582912.0f;  // 1.5 * 2^23
  const float shifted = x * 1.44269504f + round;
  const int32_t n = bits<int32_t>(shifted) - bits<int32_t>(round);
  const float whole = shifted - round;
  const float r = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;
  float p = 1.38888892e-3f;
  p = p * r + 8.33333377e-3f;
  p = p * r + 4.16666679e-2f;
  p = p * r + 0.166666672f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const int32_t half = n >> 1;
  return p * bits<float>((half + 127) << 23) * bits<float>((n - half + 127) << 23);
#endif
}

ATLAS_FN double exp(double x) {
#if defined(__CUDA_ARCH__)
  return ::exp(x);
#else
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  const double round = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 1.4426950408889634 + round;
  const int64_t n = bits<int64_t>(shifted) - bits<int64_t>(round);
  const double whole = shifted - round;
  const double r = (x - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const int64_t half = static_cast<int64_t>(static_cast<uint64_t>(n + 2048) >> 1) - 1024;  // unsigned: AVX2 has no signed one
  return p * bits<double>((half + 1023) << 52) * bits<double>((n - half + 1023) << 52);
#endif
}

// 2^t by 2^n * 2^r, |r| <= 1/2, a third cheaper than exp: for -127 <= t <= 128 (float; 0 up to -126.5, infinite from
// 127.5 on) and any t (double), which the caller sees to. Within 2 ulp. NaN passes through.
ATLAS_FN float exp2_in_range(float t) {
#if defined(__CUDA_ARCH__)
  return ::exp2f(t);
#else
  const float round_and_bias = 12582912.0f + 127.0f;  // 1.5 * 2^23: n + 127 is left in the low bits of the sum
  const float shifted = t + round_and_bias;
  const float r = t - (shifted - round_and_bias);
  float p = 1.32647273e-3f;  // minimax on the range of r, exact at 0
  p = p * r + 9.67151299e-3f;
  p = p * r + 5.55073358e-2f;
  p = p * r + 0.240222424f;
  p = p * r + 0.693147004f;
  p = p * r + 1.0f;
  return p * bits<float>(bits<uint32_t>(shifted) << 23);
#endif
}

ATLAS_FN double exp2_in_range(double t) {
  return exp(t * 0.6931471805599453);
}

template <typename T>
ATLAS_FN T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

}  // namespace atlas::math
