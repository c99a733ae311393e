// What every operator does with its arguments on any device: check them in words, make them dense, choose the type.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

namespace atlas {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Raise RuntimeError in Python with these parts as its text: "<operator>: expected <what>; received <what>".
template <typename... Parts>
void expect(bool holds, const Parts&... parts) {
  if (!holds) {
    std::ostringstream text;
    (text << ... << parts);
    throw std::runtime_error(text.str());
  }
}

std::string shape_text(const Tensor& x);  // "(3, 4)"
std::string dtype_text(ScalarType dtype);  // "float32"

void expect_floating_dtype(const char* op, const char* argument, const Tensor& x);
void expect_same_device(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y);
void expect_same_dtype(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y);
void expect_same_shape(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y);

// x itself when its elements fill one run of memory in some order (contiguous, channels_last, transposed), else a copy.
Tensor dense(const Tensor& x);
// y with exactly x's strides, so that both are walked as one run; y itself when it has them. x must be dense.
Tensor in_layout_of(const Tensor& x, const Tensor& y);

template <typename Work>
void for_floating(const char* op, ScalarType dtype, const Work& work) {
  switch (dtype) {
    case ScalarType::Float:
      return work(float{});
    case ScalarType::Double:
      return work(double{});
    case ScalarType::BFloat16:
      return work(c10::BFloat16{});
    case ScalarType::Half:
      return work(c10::Half{});
    default:
      expect(false, op, ": expected float32, float64, bfloat16 or float16; received ", dtype_text(dtype));
  }
}

template <typename T>
const T* read(const Tensor& x) {
  return static_cast<const T*>(x.const_data_ptr());
}

template <typename T>
T* write(const Tensor& x) {
  return static_cast<T*>(x.mutable_data_ptr());
}

}  // namespace atlas
