// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
void gelu_sigmoid(const T* x, T* y, int64_t count) {
  map_values(x, y, count, [](auto value) { return math::gelu_tanh(value); });
}

template <typename T>
void gelu_sigmoid_backward(const T* grad, const T* x, T* grad_x, int64_t count) {
  map_values(
      grad, x, grad_x, count, [](auto upstream, auto value) { return upstream * math::gelu_sigmoid_slope(value); });
}
