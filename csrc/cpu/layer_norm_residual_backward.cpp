#include "checks/layer_norm_residual.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "cpu/rows.h"
#include "math/layer_norm.h"

#define ATLAS_LOOPS "cpu/layer_norm_residual_backward_loops.h"
#include "cpu/each_instruction_set.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace atlas {
namespace {

constexpr const char* op = "layer_norm_residual_backward";

}  // namespace

std::tuple<Tensor, Tensor, Tensor> layer_norm_residual_backward(
    const Tensor& given_grad, const std::optional<Tensor>& given_grad_summed, const Tensor& given_summed,
    const Tensor& given_mean, const Tensor& given_rstd, const Tensor& weight) {
  expect_saved_sum(op, given_grad, given_grad_summed, given_summed, given_mean, given_rstd, weight);
  const Tensor summed = torch::stable::contiguous(given_summed), grad = torch::stable::contiguous(given_grad);
  const Tensor grad_summed = given_grad_summed ? torch::stable::contiguous(*given_grad_summed) : grad;
  const int64_t columns = weight.numel(), rows = columns ? summed.numel() / columns : 0;
  const Tensor mean = torch::stable::contiguous(given_mean), rstd = torch::stable::contiguous(given_rstd);
  const Tensor wide_weight = wide(weight);
  Tensor grad_x = fresh_like(summed);
  Tensor grad_weight = torch::stable::new_empty(weight, {columns});
  Tensor grad_bias = torch::stable::new_empty(weight, {columns});
  const int64_t per_block = rows_per_block(rows), blocks = (rows + per_block - 1) / per_block;
  const Tensor partial = torch::stable::new_zeros(summed, {blocks, 2, columns}, arithmetic_dtype(summed));
  for_floating(op, summed.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using A = baseline::arithmetic_t<T>;
    const int64_t blocks_per_thread = std::max<int64_t>(1, row_grain(columns) / per_block);
    torch::stable::parallel_for(0, blocks, blocks_per_thread, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t row = block * per_block, at = row * columns;
        A* shares = write<A>(partial) + block * 2 * columns;
        ATLAS_DISPATCH(layer_norm_residual_backward<T>)
        (read<T>(grad) + at, given_grad_summed ? read<T>(grad_summed) + at : nullptr, read<T>(summed) + at,
         read<double>(mean) + row, read<double>(rstd) + row, read<A>(wide_weight), write<T>(grad_x) + at, shares,
         shares + columns, std::min(per_block, rows - row), columns, exceeds_cache(grad_x));
      }
    });
    add_blocks(read<A>(partial), blocks, 2 * columns, write<T>(grad_weight), columns);
    add_blocks(read<A>(partial) + columns, blocks, 2 * columns, write<T>(grad_bias), columns);
  });
  return {grad_x, grad_weight, grad_bias};
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("layer_norm_residual_backward", TORCH_BOX(&atlas::layer_norm_residual_backward));
}
