#pragma once

#include <optional>

#include "arguments.h"

namespace atlas {

inline void expect_addend(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  expect_same_device(op, name, x, other, y);
  expect_same_dtype(op, name, x, other, y);
  expect_same_shape(op, name, x, other, y);
}

inline void expect_row_parameter(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  expect_same_device(op, name, x, other, y);
  expect_same_dtype(op, name, x, other, y);
  const int64_t columns = x.size(x.dim() - 1);
  expect(
      y.dim() == 1 && y.size(0) == columns, op, ": expected ", other, " of shape (", columns,
      ",), the last dimension of ", name, " ", shape_text(x), "; received ", shape_text(y));
}

inline void expect_sum_and_parameters(
    const char* op, const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias) {
  expect_floating_dtype(op, "x", x);
  expect(x.dim() >= 1, op, ": expected x of one dimension at least; received a 0-d tensor");
  expect_addend(op, "x", x, "residual", residual);
  expect_row_parameter(op, "x", x, "weight", weight);
  expect_row_parameter(op, "x", x, "bias", bias);
}

inline void expect_row_statistic(const char* op, const Tensor& x, const char* name, const Tensor& statistic) {
  int64_t rows = 1;
  for (int64_t d = 0; d + 1 < x.dim(); ++d) {
    rows *= x.size(d);
  }
  expect_same_device(op, "summed", x, name, statistic);
  expect(
      statistic.scalar_type() == ScalarType::Double && statistic.numel() == rows, op, ": expected ", name,
      " of dtype float64, one for each of ", rows, " rows; received ", dtype_text(statistic.scalar_type()), " ",
      shape_text(statistic));
}

inline void expect_saved_sum(
    const char* op, const Tensor& grad, const std::optional<Tensor>& grad_summed, const Tensor& summed,
    const Tensor& mean, const Tensor& rstd, const Tensor& weight) {
  expect_floating_dtype(op, "summed", summed);
  expect(summed.dim() >= 1, op, ": expected summed of one dimension at least; received a 0-d tensor");
  expect_addend(op, "summed", summed, "grad", grad);
  if (grad_summed) {
    expect_addend(op, "summed", summed, "grad_summed", *grad_summed);
  }
  expect_row_parameter(op, "summed", summed, "weight", weight);
  expect_row_statistic(op, summed, "mean", mean);
  expect_row_statistic(op, summed, "rstd", rstd);
}

}  // namespace atlas
