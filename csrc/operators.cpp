// The table of contents: every operator's schema. Python reads this file too, to define the same operators without a
// compiler; so each schema is one string in one m.def("...").
#include <torch/csrc/stable/library.h>

STABLE_TORCH_LIBRARY(atlas, m) {
  m.def("instruction_set(str? use=None) -> str");

  // Activations
  m.def("gelu_tanh(Tensor x) -> Tensor");
  m.def("gelu_tanh_backward(Tensor grad, Tensor x) -> Tensor");
  m.def("gelu_sigmoid(Tensor x) -> Tensor");
  m.def("gelu_sigmoid_backward(Tensor grad, Tensor x) -> Tensor");
  m.def("clipped_sigmoid(Tensor x, float beta=1.0, float clip=0.1) -> Tensor");
  m.def("clipped_sigmoid_backward(Tensor grad, Tensor x, float beta, float clip) -> Tensor");
  m.def("geglu(Tensor x) -> Tensor");
  m.def("geglu_backward(Tensor grad, Tensor x) -> Tensor");
  m.def("bias_gelu_dropout_residual(Tensor x, Tensor bias, Tensor residual, float p, Tensor seed) -> Tensor");
  m.def("bias_gelu_dropout_residual_backward(Tensor grad, Tensor x, Tensor bias, float p, Tensor seed) -> (Tensor, Tensor)");

  // Matrix product
  m.def("gemm(Tensor a, Tensor b, str variant='packed') -> Tensor");
  m.def("fma_rate(int rounds, bool float64) -> int");

  // Rows: normalisation, loss, reduction
  m.def("cross_entropy(Tensor logits, Tensor target, float label_smoothing=0.0, int ignore_index=-100) -> (Tensor, Tensor)");
  m.def("cross_entropy_backward(Tensor grad, Tensor logits, Tensor target, Tensor normalizer, float label_smoothing, int ignore_index) -> Tensor");
  m.def("layer_norm_residual(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps=1e-5) -> (Tensor, Tensor, Tensor, Tensor)");
  m.def("layer_norm_residual_backward(Tensor grad, Tensor? grad_summed, Tensor summed, Tensor mean, Tensor rstd, Tensor weight) -> (Tensor, Tensor, Tensor)");
  m.def("weighted_row_sum(Tensor x, Tensor weights) -> Tensor");
  m.def("weighted_row_sum_backward(Tensor grad, Tensor x, Tensor weights) -> (Tensor, Tensor)");

  // Optimizer steps over parameter lists
  m.def("sgd_step_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] momentum_buffers, *, float lr, float momentum=0.0, float dampening=0.0, float weight_decay=0.0, bool nesterov=False, bool maximize=False, bool first=False) -> ()");
  m.def("adamw_step_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, *, int step, float lr=0.001, float beta1=0.9, float beta2=0.999, float eps=1e-08, float weight_decay=0.01, bool maximize=False) -> ()");
}
