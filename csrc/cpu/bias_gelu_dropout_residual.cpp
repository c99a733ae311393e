#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <vector>

#include "checks/bias_gelu_dropout_residual.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "math/gelu.h"
#include "math/philox.h"

#define ATLAS_LOOPS "cpu/bias_gelu_dropout_residual_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
namespace {

// The bias as a whole row, in the type arithmetic is done in.
template <typename T>
std::vector<baseline::arithmetic_t<T>> bias_row(const Tensor& bias, int64_t columns) {
  const Tensor dense_bias = torch::stable::contiguous(bias);
  std::vector<baseline::arithmetic_t<T>> row(columns);
  for (int64_t i = 0; i < columns; ++i) {
    row[i] = static_cast<baseline::arithmetic_t<T>>(read<T>(dense_bias)[bias.numel() == 1 ? 0 : i]);
  }
  return row;
}

// How rows are divided for the sums of grad_bias: by the shape alone, so that threads do not change a bit.
struct Division {
  int64_t parts, rows_of_each;
};

Division divide(int64_t rows, int64_t columns) {
  const int64_t most = std::clamp<int64_t>((int64_t{1} << 22) / columns, 1, 64);
  const int64_t rows_of_each = std::max<int64_t>(16, (rows + most - 1) / most);
  return {(rows + rows_of_each - 1) / rows_of_each, rows_of_each};
}

// The parts' sums in their order, then over all columns where the bias is one element.
template <typename T>
void add_up(const std::vector<double>& sums, int64_t columns, const Tensor& grad_bias) {
  std::vector<double> total(columns);
  for (size_t part = 0; part < sums.size(); part += columns) {
    std::transform(total.begin(), total.end(), sums.begin() + part, total.begin(), std::plus<double>{});
  }
  if (grad_bias.numel() == 1) {
    total = {std::accumulate(total.begin(), total.end(), 0.0)};
  }
  for (size_t i = 0; i < total.size(); ++i) {
    write<T>(grad_bias)[i] = static_cast<T>(static_cast<baseline::arithmetic_t<T>>(total[i]));
  }
}

}  // namespace

Tensor bias_gelu_dropout_residual(
    const Tensor& self, const Tensor& bias, const Tensor& residual, double p, const Tensor& seed) {
  const char* op = "bias_gelu_dropout_residual";
  expect_bias_and_dropout(op, self, bias, p, seed);
  expect_same_dtype(op, "x", self, "residual", residual);
  expect_same_shape(op, "x", self, "residual", residual);
  const Tensor x = torch::stable::contiguous(self);
  const Tensor rest = torch::stable::contiguous(residual);
  Tensor y = fresh_like(x);
  const int64_t columns = x.dim() > 0 ? x.size(-1) : 1;
  const auto dropout = math::dropout_of(p, *read<int64_t>(seed));
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto row = bias_row<T>(bias, columns);
    torch::stable::parallel_for(0, x.numel(), grain, [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(bias_gelu_dropout_residual<T>)
      (read<T>(x), row.data(), read<T>(rest), write<T>(y), columns, begin, end, dropout);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor> bias_gelu_dropout_residual_backward(
    const Tensor& upstream, const Tensor& self, const Tensor& bias, double p, const Tensor& seed) {
  const char* op = "bias_gelu_dropout_residual_backward";
  expect_bias_and_dropout(op, self, bias, p, seed);
  expect_same_dtype(op, "x", self, "grad", upstream);
  expect_same_shape(op, "x", self, "grad", upstream);
  const Tensor x = torch::stable::contiguous(self);
  const Tensor grad = torch::stable::contiguous(upstream);
  Tensor grad_x = fresh_like(x), grad_bias = torch::stable::new_empty(bias, bias.sizes());
  const int64_t columns = x.dim() > 0 ? x.size(-1) : 1;
  const int64_t rows = x.numel() > 0 ? x.numel() / columns : 0;
  const auto [parts, rows_of_each] = rows > 0 ? divide(rows, columns) : Division{0, 1};
  const auto dropout = math::dropout_of(p, *read<int64_t>(seed));
  for_floating(op, x.scalar_type(), [&, parts = parts, rows_of_each = rows_of_each](auto zero) {
    using T = decltype(zero);
    const auto row = bias_row<T>(bias, columns);
    std::vector<double> sums(parts * columns);
    const int64_t part_elements = rows_of_each * columns;
    const int64_t parts_of_a_thread = parts > 0 ? grain / part_elements + 1 : 1;
    torch::stable::parallel_for(0, parts, parts_of_a_thread, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        ATLAS_DISPATCH(bias_gelu_dropout_residual_backward<T>)
        (read<T>(grad), read<T>(x), row.data(), write<T>(grad_x), sums.data() + part * columns, columns,
         part * part_elements, std::min((part + 1) * part_elements, x.numel()), dropout);
      }
    });
    add_up<T>(sums, columns, grad_bias);
  });
  return {grad_x, grad_bias};
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("bias_gelu_dropout_residual", TORCH_BOX(&atlas::bias_gelu_dropout_residual));
  m.impl("bias_gelu_dropout_residual_backward", TORCH_BOX(&atlas::bias_gelu_dropout_residual_backward));
}
