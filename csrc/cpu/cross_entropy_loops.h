// Compiled once per instruction set by each_instruction_set.h; hence no include guard.
#include "cpu/row_loops.h"

// Classes taken at once: their maximum, then their exponentials, while they are in the L1 cache.
constexpr int64_t class_tile = 4096;

template <typename A>
inline A maximum(const A* x, int64_t count, A least) {
  // Two at once: one waits for its own comparison before.
  A other = least;
  const int64_t half = count / 2;
#pragma omp simd reduction(max : least, other)
  for (int64_t i = 0; i < half; ++i) {
    least = x[i] > least ? x[i] : least;
    other = x[half + i] > other ? x[half + i] : other;
  }
  least = other > least ? other : least;
  return count % 2 && x[count - 1] > least ? x[count - 1] : least;
}

template <typename A>
inline A sum_of_exponentials(const A* x, int64_t count, A largest) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    sum += math::exp_not_positive(x[i] - largest);
  }
  return sum;
}

// log(sum(exp(x))), and sum(x) where asked for, in one pass over memory (Milakov and Gimelshein, 2018). A row of -inf
// or with +inf gives NaN, as log_softmax does.
template <typename T>
inline double logsumexp(const T* x, int64_t count, double* sum_x) {
  using A = arithmetic_t<T>;
  A buffer[sizeof(T) > 2 ? 1 : class_tile];
  A largest = -std::numeric_limits<A>::infinity();
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += class_tile) {
    const int64_t n = std::min(class_tile, count - begin);
    const A* values = widened(x + begin, buffer, n);
    const A before = largest;
    largest = maximum(values, n, largest);
    if (largest == -std::numeric_limits<A>::infinity()) {
      sum += sum_of(values, n) == largest ? 0 : std::numeric_limits<double>::quiet_NaN();  // all -inf, or a NaN
    } else {
      sum *= largest == before ? 1.0 : std::exp(static_cast<double>(before) - static_cast<double>(largest));
      sum += static_cast<double>(sum_of_exponentials(values, n, largest));
    }
    if (sum_x) {
      *sum_x += sum_of(values, n);
    }
  }
  return largest + (sum == 0 ? std::numeric_limits<double>::quiet_NaN() : std::log(sum));
}

template <typename T>
void cross_entropy(
    const T* logits, const int64_t* target, arithmetic_t<T>* losses, double* logsumexps, int64_t rows, int64_t classes,
    int64_t row_stride, double smoothing, int64_t ignore_index) {
  for (int64_t row = 0; row < rows; ++row) {
    if (target[row] == ignore_index) {
      losses[row] = 0;
      logsumexps[row] = 0;
      continue;
    }
    const T* x = logits + row * row_stride;
    double sum_x = 0;
    logsumexps[row] = logsumexp(x, classes, smoothing == 0 ? nullptr : &sum_x);
    losses[row] = static_cast<arithmetic_t<T>>(math::cross_entropy_loss(
        logsumexps[row], static_cast<double>(x[target[row]]), sum_x / static_cast<double>(classes), smoothing));
  }
}

// grad * (softmax - target distribution), written once. Stores past the cache gained nothing here: a large output is
// fresh memory, which the kernel has just cleared through the cache.
template <typename T>
void cross_entropy_backward(
    const arithmetic_t<T>* grad, const T* logits, const int64_t* target, const double* logsumexps, T* grad_logits,
    int64_t rows, int64_t classes, int64_t row_stride, double smoothing, int64_t ignore_index) {
  using A = arithmetic_t<T>;
  for (int64_t row = 0; row < rows; ++row) {
    T* out = grad_logits + row * classes;
    if (target[row] == ignore_index) {
      std::fill(out, out + classes, T(0));
      continue;
    }
    const T* x = logits + row * row_stride;
    const auto logsumexp = math::two_parts<A>(logsumexps[row]);
    const A scale = grad[row];
    const A shift = scale * static_cast<A>(smoothing / static_cast<double>(classes));
    map_values(x, out, classes, [=](A value) { return scale * math::softmax_at(value, logsumexp) - shift; });
    const A at_target = static_cast<A>(x[target[row]]);
    out[target[row]] = static_cast<T>(
        scale * (math::softmax_at(at_target, logsumexp) - static_cast<A>(1.0 - smoothing)) - shift);
  }
}
