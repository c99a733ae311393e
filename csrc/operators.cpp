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

  // Optimizer steps over parameter lists
}
