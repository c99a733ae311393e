#include "checks/optimizers.h"
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

}  // namespace

// In place: params and, where there are any, momentum_buffers; `first` says that the buffers hold nothing yet.
void sgd_step_(
    std::vector<Tensor> params, std::vector<Tensor> grads, std::vector<Tensor> momentum_buffers, double lr,
    double momentum, double dampening, double weight_decay, bool nesterov, bool maximize, bool first) {
  const char* op = "sgd_step_";
  expect_sgd(op, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov);
  const bool has_buffers = momentum != 0;
  std::vector<List> lists = {{"params", params, true}, {"grads", grads, false}};
  if (has_buffers) {
    lists.push_back({"momentum_buffers", momentum_buffers, true});
  }
  run(TensorLists(op, lists), [&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      using A = factor_t<T>;
      const auto by = math::sgd_factors<A>(lr, momentum, dampening, weight_decay, nesterov, maximize, first);
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
  expect_adamw(op, step, lr, beta1, beta2, eps, weight_decay);
  std::vector<List> lists = {
      {"params", params, true}, {"grads", grads, false}, {"exp_avgs", exp_avgs, true}, {"exp_avg_sqs", exp_avg_sqs, true}};
  const bool amsgrad = !max_exp_avg_sqs.empty();
  if (amsgrad) {
    lists.push_back({"max_exp_avg_sqs", max_exp_avg_sqs, true});
  }
  run(TensorLists(op, lists), [&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      using A = factor_t<T>;
      const auto by = math::adamw_factors<A>(step, lr, beta1, beta2, eps, weight_decay, maximize);
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
