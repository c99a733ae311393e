#include "arguments.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace atlas {

std::string shape_text(const Tensor& x) {
  std::string text = "(";
  for (int64_t i = 0; i < x.dim(); ++i) {
    text += (i ? ", " : "") + std::to_string(x.size(i));
  }
  return text + (x.dim() == 1 ? ",)" : ")");
}

std::string dtype_text(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::Half:
      return "float16";
    case ScalarType::Long:
      return "int64";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Bool:
      return "bool";
    default:
      return torch::headeronly::toString(dtype);
  }
}

void expect_floating_dtype(const char* op, const char* argument, const Tensor& x) {
  const auto dtype = x.scalar_type();
  const bool floating = dtype == ScalarType::Float || dtype == ScalarType::Double || dtype == ScalarType::BFloat16 ||
      dtype == ScalarType::Half;
  expect(
      floating, op, ": expected ", argument, " of dtype float32, float64, bfloat16 or float16; received ",
      dtype_text(dtype));
}

void expect_same_device(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  expect(
      x.device() == y.device(), op, ": expected ", other, " on the device of ", name,
      "; received a tensor on another device");
}

void expect_same_dtype(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  expect(
      x.scalar_type() == y.scalar_type(), op, ": expected ", other, " of the dtype of ", name, ", ",
      dtype_text(x.scalar_type()), "; received ", dtype_text(y.scalar_type()));
}

void expect_same_shape(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  const bool same = x.dim() == y.dim() && std::equal(x.sizes().begin(), x.sizes().end(), y.sizes().begin());
  expect(
      same, op, ": expected ", other, " of the shape of ", name, ", ", shape_text(x), "; received ", shape_text(y));
}

namespace {

bool fills_one_run(const Tensor& x) {
  if (x.is_contiguous()) {
    return true;
  }
  std::vector<int64_t> order(x.dim());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x.stride(a) < x.stride(b); });
  int64_t expected = 1;
  for (const int64_t d : order) {
    if (x.size(d) == 1) {
      continue;
    }
    if (x.stride(d) != expected) {
      return false;
    }
    expected *= x.size(d);
  }
  return true;
}

}  // namespace

Tensor dense(const Tensor& x) {
  return fills_one_run(x) ? x : torch::stable::contiguous(x);
}

Tensor in_layout_of(const Tensor& x, const Tensor& y) {
  if (std::equal(x.strides().begin(), x.strides().end(), y.strides().begin())) {
    return y;
  }
  Tensor copy = torch::stable::empty_like(x);
  torch::stable::copy_(copy, y);
  return copy;
}

}  // namespace atlas
