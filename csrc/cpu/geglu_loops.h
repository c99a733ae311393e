// Compiled once per instruction set by each_instruction_set.h; hence no include guard. One row: value and gate are the
// halves of x, `half` long each.
#include "cpu/widened.h"

template <typename T>
void geglu(const T* x, T* y, int64_t half) {
  map_values(x, x + half, y, half, [](auto value, auto gate) { return value * math::gelu_tanh(gate); });
}

template <typename T>
void geglu_backward(const T* grad, const T* x, T* grad_x, int64_t half) {
  using A = arithmetic_t<T>;
  A buffers[5][tile];
  for (int64_t begin = 0; begin < half; begin += tile) {
    const int64_t n = std::min(tile, half - begin);
    const A* __restrict upstream = widened(grad + begin, buffers[0], n);
    const A* __restrict value = widened(x + begin, buffers[1], n);
    const A* __restrict gate = widened(x + half + begin, buffers[2], n);
    A* __restrict grad_value = results_in(grad_x + begin, buffers[3]);
    A* __restrict grad_gate = results_in(grad_x + half + begin, buffers[4]);
    for (int64_t i = 0; i < n; ++i) {
      const auto gelu = math::gelu_tanh_and_derivative(gate[i]);
      grad_value[i] = upstream[i] * gelu.value;
      grad_gate[i] = upstream[i] * value[i] * gelu.derivative;
    }
    finish(grad_value, grad_x + begin, n);
    finish(grad_gate, grad_x + half + begin, n);
  }
}
