#include "cpu/instruction_set.h"
#include "cpu/tensor_lists.h"
#include "math/optimizers.h"

#define ATLAS_LOOPS "cpu/optimizer_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
namespace {

// The type arithmetic on T is done in.
template <typename T>
using factor_t = std::conditional_t<sizeof(T) == 8, double, float>;

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void expect_within(const char* op, const char* name, double value, double low, double high, const char* wanted) {
  expect(value >= low && value < high, op, ": expected ", name, " ", wanted, "; received ", number_text(value));
}

constexpr double no_limit = std::numeric_limits<double>::infinity();

}  // namespace

// In place: params and, where there are any, momentum_buffers; `first` says that the buffers hold nothing yet.
void sgd_step_(
    std::vector<Tensor> params, std::vector<Tensor> grads, std::vector<Tensor> momentum_buffers, double lr,
    double momentum, double dampening, double weight_decay, bool nesterov, bool maximize, bool first) {
  const char* op = "sgd_step_";
  expect_within(op, "lr", lr, 0, no_limit, "of 0 or more");
  expect_within(op, "momentum", momentum, 0, no_limit, "of 0 or more");
  expect_within(op, "weight_decay", weight_decay, 0, no_limit, "of 0 or more");
  expect(
      !nesterov || (momentum > 0 && dampening == 0), op,
      ": expected momentum above 0 and dampening 0 with nesterov; received momentum ", momentum, ", dampening ",
      dampening);
  const bool has_buffers = momentum != 0;
  expect(
      has_buffers || momentum_buffers.empty(), op, ": expected no momentum_buffers without momentum; received ",
      momentum_buffers.size());
  std::vector<List> lists = {{"params", params, true}, {"grads", grads, false}};
  if (has_buffers) {
    lists.push_back({"momentum_buffers", momentum_buffers, true});
  }
  TensorLists(op, lists).run([&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      using A = factor_t<T>;
      const math::SgdFactors<A> by{A(lr), A(momentum), A(1 - dampening), A(weight_decay), nesterov, maximize, first};
      ATLAS_DISPATCH(sgd_step<T>)
      (by, entry.at<T>(0, begin), entry.at<T>(1, begin), has_buffers ? entry.at<T>(2, begin) : nullptr, end - begin);
    });
  });
}

// In place: params, both averages and, for amsgrad, max_exp_avg_sqs. `step` counts from 1.
void adamw_step_(
    std::vector<Tensor> params, std::vector<Tensor> grads, std::vector<Tensor> exp_avgs,
    std::vector<Tensor> exp_avg_sqs, std::vector<Tensor> max_exp_avg_sqs, int64_t step, double lr, double beta1,
    double beta2, double eps, double weight_decay, bool maximize) {
  const char* op = "adamw_step_";
  expect(step >= 1, op, ": expected step of 1 or more; received ", step);
  expect_within(op, "lr", lr, 0, no_limit, "of 0 or more");
  expect_within(op, "beta1", beta1, 0, 1, "from 0 to below 1");
  expect_within(op, "beta2", beta2, 0, 1, "from 0 to below 1");
  expect_within(op, "eps", eps, 0, no_limit, "of 0 or more");
  expect_within(op, "weight_decay", weight_decay, 0, no_limit, "of 0 or more");
  std::vector<List> lists = {
      {"params", params, true}, {"grads", grads, false}, {"exp_avgs", exp_avgs, true}, {"exp_avg_sqs", exp_avg_sqs, true}};
  const bool amsgrad = !max_exp_avg_sqs.empty();
  if (amsgrad) {
    lists.push_back({"max_exp_avg_sqs", max_exp_avg_sqs, true});
  }
  const double step_size = lr / (1 - std::pow(beta1, step));
  const double correction = 1 / std::sqrt(1 - std::pow(beta2, step));
  TensorLists(op, lists).run([&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      using A = factor_t<T>;
      const math::AdamwFactors<A> by{
          A(1 - lr * weight_decay), A(1 - beta1), A(beta2), A(1 - beta2), A(step_size), A(correction), A(eps), maximize};
      ATLAS_DISPATCH(adamw_step<T>)
      (by, entry.at<T>(0, begin), entry.at<T>(1, begin), entry.at<T>(2, begin), entry.at<T>(3, begin),
       amsgrad ? entry.at<T>(4, begin) : nullptr, end - begin);
    });
  });
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("sgd_step_", TORCH_BOX(&atlas::sgd_step_));
  m.impl("adamw_step_", TORCH_BOX(&atlas::adamw_step_));
}
