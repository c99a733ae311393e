#include "checks/optimizers.h"
#include "cpu/instruction_set.h"
#include "cpu/tensor_lists.h"
#include "math/optimizers.h"

#define ATLAS_LOOPS "cpu/optimizer_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
namespace {

// A step's factors, worked out once for the arithmetic in float and once for that in double.
template <typename Make>
struct Factors {
  explicit Factors(const Make& make) : in_float(make(float{})), in_double(make(double{})) {}

  template <typename T>
  const auto& of() const {
    if constexpr (sizeof(T) == 8) {
      return in_double;
    } else {
      return in_float;
    }
  }

  std::invoke_result_t<Make, float> in_float;
  std::invoke_result_t<Make, double> in_double;
};

}  // namespace

// In place: params and, where there are any, momentum_buffers; `first` says that the buffers hold nothing yet.
void sgd_step_(
    const TensorList& params, const TensorList& grads, const TensorList& momentum_buffers, double lr,
    double momentum, double dampening, double weight_decay, bool nesterov, bool maximize, bool first) {
  const char* op = "sgd_step_";
  expect_sgd(op, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov);
  const bool has_buffers = momentum != 0;
  std::vector<List> lists = {{"params", params, true}, {"grads", grads, false}};
  if (has_buffers) {
    lists.push_back({"momentum_buffers", momentum_buffers, true, true});
  }
  const Factors factors([&](auto zero) {
    return math::sgd_factors<decltype(zero)>(lr, momentum, dampening, weight_decay, nesterov, maximize, first);
  });
  run(TensorLists(op, lists), [&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      ATLAS_DISPATCH(sgd_step<T>)
      (factors.of<T>(), entry.at<T>(0, begin), entry.at<T>(1, begin), has_buffers ? entry.at<T>(2, begin) : nullptr,
       end - begin);
    });
  });
}

// In place: params, both averages and, for amsgrad, max_exp_avg_sqs. `step` counts from 1.
void adamw_step_(
    const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
    const TensorList& exp_avg_sqs, const TensorList& max_exp_avg_sqs, int64_t step, double lr, double beta1,
    double beta2, double eps, double weight_decay, bool maximize) {
  const char* op = "adamw_step_";
  expect_adamw(op, step, lr, beta1, beta2, eps, weight_decay);
  std::vector<List> lists = {
      {"params", params, true},
      {"grads", grads, false},
      {"exp_avgs", exp_avgs, true, true},
      {"exp_avg_sqs", exp_avg_sqs, true, true}};
  const bool amsgrad = !max_exp_avg_sqs.empty();
  if (amsgrad) {
    lists.push_back({"max_exp_avg_sqs", max_exp_avg_sqs, true, true});
  }
  const Factors factors([&](auto zero) {
    return math::adamw_factors<decltype(zero)>(step, lr, beta1, beta2, eps, weight_decay, maximize);
  });
  run(TensorLists(op, lists), [&](const TensorLists::Entry& entry, int64_t begin, int64_t end) {
    for_floating(op, entry.dtype, [&](auto zero) {
      using T = decltype(zero);
      ATLAS_DISPATCH(adamw_step<T>)
      (factors.of<T>(), entry.at<T>(0, begin), entry.at<T>(1, begin), entry.at<T>(2, begin), entry.at<T>(3, begin),
       amsgrad ? entry.at<T>(4, begin) : nullptr, end - begin);
    });
  });
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("sgd_step_", TORCH_BOX(&atlas::sgd_step_));
  m.impl("adamw_step_", TORCH_BOX(&atlas::adamw_step_));
}
