// Cross entropy of one row of logits against a class index, with label smoothing (Szegedy et al., 2016): the target
// distribution is (1 - smoothing) at the class plus smoothing / classes everywhere.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

// e^x for x <= 0, and 0 below e^-87: half the instructions of exp. Adding `round` leaves n plus the exponent's bias in
// the low bits of the sum, which shifted up are 2^n. NaN passes through.
ATLAS_FN float exp_not_positive(float x) {
#if defined(__CUDA_ARCH__)
  return ::expf(x);
#else
  const float round = 12583039.0f;  // 1.5 * 2^23 + 127
  const float shifted = x * 1.44269504f + round;
  const float whole = shifted - round;
  const float r = (x - whole * 0.693145752f) - whole * 1.42860677e-6f;
  float p = 1.38888892e-3f;
  p = p * r + 8.33333377e-3f;
  p = p * r + 4.16666679e-2f;
  p = p * r + 0.166666672f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return x < -87.0f ? 0.0f : p * bits<float>(bits<uint32_t>(shifted) << 23);
#endif
}

ATLAS_FN double exp_not_positive(double x) {
  return x < -700.0 ? 0.0 : exp(x);
}

// The largest logit of a row, and the sum of exp(logit - largest): in one number, largest + log(sum), nothing would be
// left of the sum beside logits of 1e16. The sum of a row with +inf or NaN, or of -inf only, is NaN.
struct Normalizer {
  double largest, sum;
};

// Of logits as they lie below the largest: that of the target, and the mean of all, which is read where smoothing is
// not 0 only: it is infinite where one logit is.
ATLAS_FN double cross_entropy_loss(double sum, double target_below, double mean_below, double smoothing) {
  const double log_sum = ::log(sum), at_target = log_sum - target_below;
  return smoothing == 0.0 ? at_target : (1.0 - smoothing) * at_target + smoothing * (log_sum - mean_below);
}

// What makes softmax out of a logit, times a number handed down.
template <typename T>
struct ScaledSoftmax {
  T largest, factor;

  ATLAS_FN ScaledSoftmax(Normalizer of_row, T scale)
      : largest(static_cast<T>(of_row.largest)), factor(static_cast<T>(static_cast<double>(scale) / of_row.sum)) {}

  ATLAS_FN T operator()(T logit) const { return factor * exp_not_positive(logit - largest); }
};

}  // namespace atlas::math
