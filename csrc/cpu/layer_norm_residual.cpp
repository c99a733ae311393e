#include "checks/layer_norm_residual.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "cpu/rows.h"
#include "math/layer_norm.h"

#define ATLAS_LOOPS "cpu/layer_norm_residual_loops.h"
#include "cpu/each_instruction_set.h"

#include <tuple>
#include <vector>

namespace atlas {
namespace {

constexpr const char* op = "layer_norm_residual";

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> layer_norm_residual(
    const Tensor& given_x, const Tensor& given_residual, const Tensor& weight, const Tensor& bias, double eps) {
  expect_sum_and_parameters(op, given_x, given_residual, weight, bias);
  const Tensor x = torch::stable::contiguous(given_x);
  const Tensor residual = torch::stable::contiguous(given_residual);
  const Tensor wide_weight = wide(weight), wide_bias = wide(bias);
  const int64_t columns = x.size(x.dim() - 1);
  const std::vector<int64_t> lead(x.sizes().begin(), x.sizes().end() - 1);
  Tensor y = fresh_like(x), summed = fresh_like(x);
  Tensor mean = torch::stable::new_empty(x, lead, ScalarType::Double);
  Tensor rstd = torch::stable::new_empty(x, lead, ScalarType::Double);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using A = baseline::arithmetic_t<T>;
    torch::stable::parallel_for(0, mean.numel(), row_grain(columns), [&](int64_t begin, int64_t end) {
      const int64_t at = begin * columns;
      ATLAS_DISPATCH(layer_norm_residual<T>)
      (read<T>(x) + at, read<T>(residual) + at, read<A>(wide_weight), read<A>(wide_bias), write<T>(y) + at,
       write<T>(summed) + at, write<double>(mean) + begin, write<double>(rstd) + begin, end - begin, columns, eps,
       exceeds_cache(y));
    });
  });
  return {y, summed, mean, rstd};
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("layer_norm_residual", TORCH_BOX(&atlas::layer_norm_residual));
}
