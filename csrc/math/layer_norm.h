// Layer norm of a row (Ba, Kiros and Hinton, 2016): (x - mean) * rstd * weight + bias, rstd = 1 / sqrt(variance + eps).
#pragma once

#include "math/two_parts.h"

namespace atlas::math {

struct RowStatistics {
  double mean;
  double rstd;
};

// From the sums of x - near and of its square, `near` being a first estimate of the mean: two passes, so that a mean
// far from 0 costs no digits of the variance.
ATLAS_FN RowStatistics row_statistics(double near, double sum, double sum_of_squares, double count, double eps) {
  const double offset = sum / count;
  const double variance = sum_of_squares / count - offset * offset;
  return {near + offset, 1.0 / ::sqrt((variance < 0.0 ? 0.0 : variance) + eps)};
}

template <typename T>
ATLAS_FN T normalised(T x, TwoParts<T> mean, T rstd) {
  return minus(x, mean) * rstd;
}

// The gradient of x; `scaled` = grad * weight, its means over the row alone and times the normalised x.
template <typename T>
ATLAS_FN T layer_norm_gradient(T scaled, T x_normalised, T rstd, T mean_scaled, T mean_product) {
  return rstd * (scaled - mean_scaled - x_normalised * mean_product);
}

}  // namespace atlas::math
