// One element of an optimizer's step, in place. Factors that are the same for every element are worked out once, in
// double. Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019; Reddi et al., 2018 (amsgrad).
#pragma once

#include "math/numeric.h"

namespace atlas::math {

ATLAS_FN float square_root(float x) {
  return ::sqrtf(x);
}

ATLAS_FN double square_root(double x) {
  return ::sqrt(x);
}

template <typename T>
struct SgdFactors {
  T lr, momentum, undampened, weight_decay;
  bool nesterov, maximize, first;
};

template <typename T>
SgdFactors<T> sgd_factors(
    double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool maximize, bool first) {
  return {T(lr), T(momentum), T(1 - dampening), T(weight_decay), nesterov, maximize, first};
}

// What the parameter moves along, without momentum.
template <typename T>
ATLAS_FN T sgd_direction(const SgdFactors<T>& by, T param, T grad) {
  const T g = by.maximize ? -grad : grad;
  return by.weight_decay != T(0) ? g + by.weight_decay * param : g;  // an infinite parameter times 0 would be NaN
}

template <typename T>
ATLAS_FN void sgd(const SgdFactors<T>& by, T& param, T grad) {
  param -= by.lr * sgd_direction(by, param, grad);
}

template <typename T>
ATLAS_FN void sgd_momentum(const SgdFactors<T>& by, T& param, T grad, T& buffer) {
  const T direction = sgd_direction(by, param, grad);
  buffer = by.first ? direction : by.momentum * buffer + by.undampened * direction;
  param -= by.lr * (by.nesterov ? direction + by.momentum * buffer : buffer);
}

template <typename T>
struct AdamwFactors {
  T kept;  // 1 - lr * weight_decay
  T new1;  // 1 - beta1
  T beta2, new2;
  T step_size;  // lr / (1 - beta1^step)
  T correction;  // 1 / sqrt(1 - beta2^step)
  T eps;
  bool maximize;
};

template <typename T>
AdamwFactors<T> adamw_factors(
    int64_t step, double lr, double beta1, double beta2, double eps, double weight_decay, bool maximize) {
  const double step_size = lr / (1 - std::pow(beta1, step));
  const double correction = 1 / std::sqrt(1 - std::pow(beta2, step));
  return {T(1 - lr * weight_decay), T(1 - beta1), T(beta2), T(1 - beta2), T(step_size), T(correction), T(eps), maximize};
}

// Both averages, of the gradient and of its square.
template <typename T>
ATLAS_FN void adamw_averages(const AdamwFactors<T>& by, T grad, T& exp_avg, T& exp_avg_sq) {
  const T g = by.maximize ? -grad : grad;
  exp_avg += by.new1 * (g - exp_avg);
  exp_avg_sq = by.beta2 * exp_avg_sq + by.new2 * g * g;
}

template <typename T>
ATLAS_FN void adamw_move(const AdamwFactors<T>& by, T& param, T exp_avg, T square) {
  const T denominator = square_root(square) * by.correction + by.eps;
  param = param * by.kept - by.step_size * exp_avg / denominator;
}

template <typename T>
ATLAS_FN void adamw(const AdamwFactors<T>& by, T& param, T grad, T& exp_avg, T& exp_avg_sq) {
  adamw_averages(by, grad, exp_avg, exp_avg_sq);
  adamw_move(by, param, exp_avg, exp_avg_sq);
}

// NaN stays: a comparison with it is false, and the average then is what is kept.
template <typename T>
ATLAS_FN void adamw_amsgrad(const AdamwFactors<T>& by, T& param, T grad, T& exp_avg, T& exp_avg_sq, T& largest) {
  adamw_averages(by, grad, exp_avg, exp_avg_sq);
  largest = largest > exp_avg_sq || largest != largest ? largest : exp_avg_sq;
  adamw_move(by, param, exp_avg, largest);
}

}  // namespace atlas::math
