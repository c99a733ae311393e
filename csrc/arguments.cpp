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
    case ScalarType::Short:
      return "int16";
    case ScalarType::Char:
      return "int8";
    case ScalarType::Byte:
      return "uint8";
    case ScalarType::UInt16:
      return "uint16";
    case ScalarType::UInt32:
      return "uint32";
    case ScalarType::UInt64:
      return "uint64";
    case ScalarType::ComplexHalf:
      return "complex32";
    case ScalarType::ComplexFloat:
      return "complex64";
    case ScalarType::ComplexDouble:
      return "complex128";
    case ScalarType::Float8_e4m3fn:
      return "float8_e4m3fn";
    case ScalarType::Float8_e5m2:
      return "float8_e5m2";
    default:
      return torch::headeronly::toString(dtype);
  }
}

namespace {

std::string device_text(const Tensor& x) {
  const auto device = x.device();
  switch (device.type()) {
    case torch::headeronly::DeviceType::CPU:
      return "cpu";
    case torch::headeronly::DeviceType::CUDA:
      return "cuda:" + std::to_string(device.index());
    default:
      return "another device";
  }
}

}  // namespace

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
      x.device() == y.device(), op, ": expected ", other, " on the device of ", name, ", ", device_text(x),
      "; received ", device_text(y));
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
  if (fills_one_run(x)) {
    return x;
  }
  // Not `contiguous`: results have the strides that empty_like gives, which keeps the order of the dimensions.
  Tensor copy = torch::stable::empty_like(x);
  torch::stable::copy_(copy, x);
  return copy;
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
