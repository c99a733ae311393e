// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
void clipped_sigmoid(const T* x, T* y, int64_t count, double beta) {
  const auto scale = static_cast<arithmetic_t<T>>(beta);
  map_values(x, y, count, [=](auto value) { return math::scaled_sigmoid(value, scale); });
}

template <typename T>
void clipped_sigmoid_backward(
    const T* grad, const T* x, T* grad_x, int64_t count, double beta, double most) {
  const auto scale = static_cast<arithmetic_t<T>>(beta);
  const auto clip = static_cast<arithmetic_t<T>>(most);
  map_values(grad, x, grad_x, count, [=](auto upstream, auto value) {
    return upstream * math::clipped_sigmoid_slope(value, scale, clip);
  });
}
