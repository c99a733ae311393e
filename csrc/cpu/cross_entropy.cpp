#include "checks/cross_entropy.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "cpu/rows.h"
#include "math/cross_entropy.h"

#define ATLAS_LOOPS "cpu/cross_entropy_loops.h"
#include "cpu/each_instruction_set.h"

#include <string>
#include <tuple>

namespace atlas {
namespace {

void expect_classes(const char* op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  const int64_t* values = read<int64_t>(target);
  for (int64_t row = 0; row < target.numel(); ++row) {
    const int64_t value = values[row];
    if (value != ignore_index && (value < 0 || value >= classes)) {
      const std::string last = std::to_string(classes - 1);
      expect(
          false, op, ": expected ", classes ? "classes from 0 to " + last + " or " : "", "ignore_index ", ignore_index,
          classes ? "" : ", as there are no classes", "; received target[", row, "] = ", value);
    }
  }
}

}  // namespace

std::tuple<Tensor, Tensor> cross_entropy(
    const Tensor& given_logits, const Tensor& given_target, double smoothing, int64_t ignore_index) {
  expect_rows_and_classes("cross_entropy", given_logits, given_target, smoothing);
  const Tensor logits = with_dense_rows(given_logits);
  const Tensor target = torch::stable::contiguous(given_target);
  const int64_t rows = logits.size(0), classes = logits.size(1), stride = logits.stride(0);
  expect_classes("cross_entropy", target, classes, ignore_index);
  Tensor losses = torch::stable::new_empty(logits, {rows}, arithmetic_dtype(logits));
  Tensor normalizer = torch::stable::new_empty(logits, {rows, 2}, ScalarType::Double);
  auto* of_row = reinterpret_cast<math::Normalizer*>(write<double>(normalizer));
  for_floating("cross_entropy", logits.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using A = baseline::arithmetic_t<T>;
    torch::stable::parallel_for(0, rows, row_grain(classes), [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(cross_entropy<T>)
      (read<T>(logits) + begin * stride, read<int64_t>(target) + begin, write<A>(losses) + begin,
       of_row + begin, end - begin, classes, stride, smoothing, ignore_index);
    });
  });
  return {losses, normalizer};
}

Tensor cross_entropy_backward(
    const Tensor& given_grad, const Tensor& given_logits, const Tensor& given_target, const Tensor& given_normalizer,
    double smoothing, int64_t ignore_index) {
  const char* op = "cross_entropy_backward";
  expect_rows_and_classes(op, given_logits, given_target, smoothing);
  expect_saved_rows(op, given_target, given_grad, given_normalizer, arithmetic_dtype(given_logits));
  const Tensor logits = with_dense_rows(given_logits);
  const Tensor target = torch::stable::contiguous(given_target);
  const Tensor grad = torch::stable::contiguous(given_grad);
  const Tensor normalizer = torch::stable::contiguous(given_normalizer);
  const auto* of_row = reinterpret_cast<const math::Normalizer*>(read<double>(normalizer));
  const int64_t rows = logits.size(0), classes = logits.size(1), stride = logits.stride(0);
  expect_classes(op, target, classes, ignore_index);
  Tensor grad_logits = in_huge_pages(torch::stable::new_empty(logits, {rows, classes}));
  for_floating(op, logits.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using A = baseline::arithmetic_t<T>;
    torch::stable::parallel_for(0, rows, row_grain(classes), [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(cross_entropy_backward<T>)
      (read<A>(grad) + begin, read<T>(logits) + begin * stride, read<int64_t>(target) + begin,
       of_row + begin, write<T>(grad_logits) + begin * classes, end - begin, classes, stride, smoothing, ignore_index);
    });
  });
  return grad_logits;
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("cross_entropy", TORCH_BOX(&atlas::cross_entropy));
  m.impl("cross_entropy_backward", TORCH_BOX(&atlas::cross_entropy_backward));
}
