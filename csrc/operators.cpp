// The table of contents: every operator's schema. Python reads this file too, to define the same operators without a
// compiler; so each schema is one string in one m.def("...").
#include <torch/csrc/stable/library.h>

STABLE_TORCH_LIBRARY(atlas, m) {
  m.def("instruction_set(str? use=None) -> str");

  // Activations
  m.def("gelu_tanh(Tensor x) -> Tensor");
  m.def("gelu_tanh_backward(Tensor grad, Tensor x) -> Tensor");

  // Matrix product
  m.def("gemm(Tensor a, Tensor b, str kernel='packed') -> Tensor");
  m.def("fma_rate(int rounds, bool float64) -> int");

  // Rows: normalisation, loss, reduction
  m.def("cross_entropy(Tensor logits, Tensor target, float label_smoothing=0.0, int ignore_index=-100) -> (Tensor, Tensor)");
  m.def("cross_entropy_backward(Tensor grad, Tensor logits, Tensor target, Tensor logsumexp, float label_smoothing, int ignore_index) -> Tensor");
  m.def("layer_norm_residual(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps=1e-5) -> (Tensor, Tensor, Tensor, Tensor)");
  m.def("layer_norm_residual_backward(Tensor grad, Tensor? grad_summed, Tensor summed, Tensor mean, Tensor rstd, Tensor weight) -> (Tensor, Tensor, Tensor)");

  // Optimizer steps over parameter lists
}
