#include "checks/weighted_row_sum.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "cpu/rows.h"
#include "math/numeric.h"

#define ATLAS_LOOPS "cpu/weighted_row_sum_loops.h"
#include "cpu/each_instruction_set.h"

#include <tuple>

namespace atlas {
namespace {

// Rows are shared out among threads in whole groups, so that a row is added up alike whoever does it.
constexpr int64_t rows_at_once = 4, rows_of_columns = 1024;

template <typename Work>
void for_groups(int64_t rows, int64_t in_group, int64_t columns, const Work& work) {
  const int64_t groups = (rows + in_group - 1) / in_group;
  const int64_t least = std::max<int64_t>(1, row_grain(columns) / in_group);
  torch::stable::parallel_for(0, groups, least, [&](int64_t begin, int64_t end) {
    work(begin * in_group, std::min(rows, end * in_group));
  });
}

}  // namespace

Tensor weighted_row_sum(const Tensor& given, const Tensor& weights) {
  const char* op = "weighted_row_sum";
  expect_matrix_and_weights(op, given, weights);
  const bool by_columns = given.size(1) > 1 && given.stride(1) != 1 && given.stride(0) == 1;
  const Tensor x = by_columns ? given : with_dense_rows(given), wide_weights = wide(weights);
  const int64_t rows = x.size(0), columns = x.size(1);
  Tensor y = torch::stable::new_empty(x, {rows});
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto* w = read<baseline::arithmetic_t<T>>(wide_weights);
    for_groups(rows, by_columns ? rows_of_columns : rows_at_once, columns, [&](int64_t begin, int64_t end) {
      if (by_columns) {
        ATLAS_DISPATCH(weighted_row_sum_by_columns<T>)
        (read<T>(x) + begin, w, write<T>(y) + begin, end - begin, columns, x.stride(1));
      } else {
        ATLAS_DISPATCH(weighted_row_sum<T>)
        (read<T>(x) + begin * x.stride(0), w, write<T>(y) + begin, end - begin, columns, x.stride(0));
      }
    });
  });
  return y;
}

std::tuple<Tensor, Tensor> weighted_row_sum_backward(const Tensor& grad, const Tensor& given, const Tensor& weights) {
  const char* op = "weighted_row_sum_backward";
  expect_matrix_and_weights(op, given, weights);
  expect_gradient_of_rows(op, given, grad);
  const Tensor x = with_dense_rows(given), wide_weights = wide(weights), wide_grad = wide(grad);
  const int64_t rows = x.size(0), columns = x.size(1), in_block = rows_per_block(rows);
  const int64_t blocks = (rows + in_block - 1) / in_block;
  Tensor grad_x = in_huge_pages(torch::stable::new_empty(x, {rows, columns}));
  Tensor grad_weights = torch::stable::new_empty(weights, {columns});
  const Tensor partial = torch::stable::new_zeros(x, {blocks, columns}, arithmetic_dtype(x));
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    using A = baseline::arithmetic_t<T>;
    torch::stable::parallel_for(
        0, blocks, std::max<int64_t>(1, row_grain(columns) / in_block), [&](int64_t begin, int64_t end) {
          for (int64_t block = begin; block < end; ++block) {
            const int64_t row = block * in_block;
            ATLAS_DISPATCH(weighted_row_sum_backward<T>)
            (read<A>(wide_grad) + row, read<T>(x) + row * x.stride(0), read<A>(wide_weights),
             write<T>(grad_x) + row * columns, write<A>(partial) + block * columns, std::min(in_block, rows - row),
             columns, x.stride(0));
          }
        });
    add_blocks(read<A>(partial), blocks, columns, write<T>(grad_weights), columns);
  });
  return {grad_x, grad_weights};
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("weighted_row_sum", TORCH_BOX(&atlas::weighted_row_sum));
  m.impl("weighted_row_sum_backward", TORCH_BOX(&atlas::weighted_row_sum_backward));
}
