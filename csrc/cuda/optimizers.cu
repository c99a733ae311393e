#include "cuda/launch.h"

#include <vector>

#include "checks/optimizers.h"
#include "cuda/optimizers_kernels.h"
#include "tensor_lists.h"

namespace atlas::cuda {
namespace {

// Fills tables with the entries of one dtype and starts a kernel whenever one is full.
template <typename T, int lists, typename Step, typename Factors>
void step_entries(const char* op, const Tensor& on, const TensorLists& all, ScalarType dtype, const Factors& by) {
  using Table = StepTable<lists>;
  Table table{};
  const auto start = [&] {
    if (table.tensors > 0) {
      const unsigned blocks = static_cast<unsigned>(table.first_block[table.tensors]);
      launch(op, on, step_kernel<T, lists, Step>, blocks, step_threads, table, by);
    }
    table = Table{};
  };
  for (const TensorLists::Entry& entry : all.entries()) {
    if (entry.dtype != dtype) {
      continue;
    }
    const int64_t count = entry.end - entry.begin, blocks = (count + piece - 1) / piece;
    constexpr int64_t most_blocks = int64_t{1} << 30;
    expect(blocks < most_blocks, op, ": expected tensors of fewer than 2^42 elements; received ", count);
    if (table.tensors == Table::most || table.first_block[table.tensors] + blocks > most_blocks) {
      start();
    }
    const int i = table.tensors++;
    for (int list = 0; list < lists; ++list) {
      table.data[list][i] = entry.data[list];
    }
    table.counts[i] = count;
    table.first_block[i + 1] = table.first_block[i] + static_cast<int>(blocks);
  }
  start();
}

// factors(zero): the step's, in the type of zero.
template <int lists, typename Step, typename Factors>
void step(const char* op, const std::vector<List>& given, const Factors& factors) {
  const TensorLists all(op, given);
  if (all.total() == 0) {
    return;
  }
  const Tensor on = given.front().tensors[0];
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Half}) {
    for_floating(op, dtype, [&](auto zero) {
      using T = decltype(zero);
      step_entries<T, lists, Step>(op, on, all, dtype, factors(arithmetic_t<T>{}));
    });
  }
  all.copy_back();
}

}  // namespace

void sgd_step_(
    const TensorList& params, const TensorList& grads, const TensorList& momentum_buffers, double lr,
    double momentum, double dampening, double weight_decay, bool nesterov, bool maximize, bool first) {
  const char* op = "sgd_step_";
  expect_sgd(op, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov);
  const auto factors = [&](auto zero) {
    return math::sgd_factors<decltype(zero)>(lr, momentum, dampening, weight_decay, nesterov, maximize, first);
  };
  std::vector<List> lists = {{"params", params, true}, {"grads", grads, false}};
  if (momentum == 0) {
    return step<2, SgdStep>(op, lists, factors);
  }
  lists.push_back({"momentum_buffers", momentum_buffers, true, true});
  step<3, SgdStep>(op, lists, factors);
}

void adamw_step_(
    const TensorList& params, const TensorList& grads, const TensorList& exp_avgs,
    const TensorList& exp_avg_sqs, const TensorList& max_exp_avg_sqs, int64_t step_count, double lr, double beta1,
    double beta2, double eps, double weight_decay, bool maximize) {
  const char* op = "adamw_step_";
  expect_adamw(op, step_count, lr, beta1, beta2, eps, weight_decay);
  const auto factors = [&](auto zero) {
    return math::adamw_factors<decltype(zero)>(step_count, lr, beta1, beta2, eps, weight_decay, maximize);
  };
  std::vector<List> lists = {
      {"params", params, true},
      {"grads", grads, false},
      {"exp_avgs", exp_avgs, true, true},
      {"exp_avg_sqs", exp_avg_sqs, true, true}};
  if (max_exp_avg_sqs.empty()) {
    return step<4, AdamwStep>(op, lists, factors);
  }
  lists.push_back({"max_exp_avg_sqs", max_exp_avg_sqs, true, true});
  step<5, AdamwStep>(op, lists, factors);
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("sgd_step_", TORCH_BOX(&atlas::cuda::sgd_step_));
  m.impl("adamw_step_", TORCH_BOX(&atlas::cuda::adamw_step_));
}
