// y = scale * max(x, 0): a whole operator on PyTorch's stable ABI, which one build serves over many versions.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

using torch::stable::Tensor;

Tensor scaled_relu(const Tensor& x, double scale) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "scaled_relu: expected x in float32");
  const Tensor dense = torch::stable::contiguous(x);
  Tensor y = torch::stable::empty_like(dense);
  const float* from = dense.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  const float factor = static_cast<float>(scale);
  torch::stable::parallel_for(0, dense.numel(), 32768, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      to[i] = from[i] > 0.0f ? factor * from[i] : 0.0f;
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
