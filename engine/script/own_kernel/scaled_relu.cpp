// y = scale * max(x, 0): a whole operator on PyTorch's stable ABI, which one build serves over many versions.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <stdexcept>

using torch::stable::Tensor;

Tensor scaled_relu(const Tensor& x, double scale) {
  if (x.scalar_type() != torch::headeronly::ScalarType::Float) {
    throw std::runtime_error("scaled_relu: expected x in float32; convert it with x.float().");
  }
  const Tensor dense = torch::stable::contiguous(x);
  Tensor y = torch::stable::new_empty(x, x.sizes());  // row by row, whatever the strides of x, as the fake says too
  const float* from = dense.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  const float factor = static_cast<float>(scale);
  torch::stable::parallel_for(0, dense.numel(), 32768, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      to[i] = factor * (from[i] < 0.0f ? 0.0f : from[i]);  // NaN is not below 0, so it stays
    }
  });
  return y;
}

STABLE_TORCH_LIBRARY(mine, m) {
  m.def("scaled_relu(Tensor x, float scale) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(mine, CPU, m) {
  m.impl("scaled_relu", TORCH_BOX(&scaled_relu));
}
