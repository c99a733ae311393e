#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "tensor_lists.h"

namespace atlas {

inline std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

inline void expect_within(const char* op, const char* name, double value, double low, double high, const char* wanted) {
  expect(value >= low && value < high, op, ": expected ", name, " ", wanted, "; received ", number_text(value));
}

inline void expect_sgd(
    const char* op, const TensorList& momentum_buffers, double lr, double momentum, double dampening,
    double weight_decay, bool nesterov) {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  expect_within(op, "lr", lr, 0, no_limit, "of 0 or more");
  expect_within(op, "momentum", momentum, 0, no_limit, "of 0 or more");
  expect_within(op, "weight_decay", weight_decay, 0, no_limit, "of 0 or more");
  expect(std::isfinite(dampening), op, ": expected a finite dampening; received ", number_text(dampening));
  expect(
      !nesterov || (momentum > 0 && dampening == 0), op,
      ": expected momentum above 0 and dampening 0 with nesterov; received momentum ", momentum, ", dampening ",
      dampening);
  expect(
      momentum != 0 || momentum_buffers.empty(), op, ": expected no momentum_buffers without momentum; received ",
      momentum_buffers.size());
}

inline void expect_adamw(
    const char* op, int64_t step, double lr, double beta1, double beta2, double eps, double weight_decay) {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  expect(step >= 1, op, ": expected step of 1 or more; received ", step);
  expect_within(op, "lr", lr, 0, no_limit, "of 0 or more");
  expect_within(op, "beta1", beta1, 0, 1, "from 0 to below 1");
  expect_within(op, "beta2", beta2, 0, 1, "from 0 to below 1");
  expect_within(op, "eps", eps, 0, no_limit, "of 0 or more");
  expect_within(op, "weight_decay", weight_decay, 0, no_limit, "of 0 or more");
}

}  // namespace atlas
