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

// sum(x - largest): a sum of x would lose to a large offset what they differ in. Again in double where float overflows.
template <typename A, typename Sum = A>
inline double sum_below(const A* x, int64_t count, A largest) {
  Sum sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<Sum>(x[i]) - static_cast<Sum>(largest);
  }
  if constexpr (sizeof(Sum) < sizeof(double)) {
    return sum == -std::numeric_limits<Sum>::infinity() ? sum_below<A, double>(x, count, largest) : sum;
  }
  return static_cast<double>(sum);
}

// The normalizer, and sum(x - largest) where asked for, in one pass over memory (Milakov and Gimelshein, 2018).
template <typename T>
inline math::Normalizer normalizer_of(const T* x, int64_t count, double* below) {
  using A = arithmetic_t<T>;
  A buffer[sizeof(T) > 2 ? 1 : class_tile];
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  A largest = lowest;
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += class_tile) {
    const int64_t n = std::min(class_tile, count - begin);
    const A* values = widened(x + begin, buffer, n);
    const A before = largest;
    largest = maximum(values, n, largest);
    const double rise = largest == before ? 0.0 : static_cast<double>(largest) - static_cast<double>(before);
    if (largest == lowest) {
      sum += sum_of(values, n) == lowest ? 0 : std::numeric_limits<double>::quiet_NaN();  // all -inf, or a NaN
    } else {
      sum = sum * std::exp(-rise) + static_cast<double>(sum_of_exponentials(values, n, largest));
    }
    if (below) {
      const double of_tile = largest == lowest ? lowest : sum_below(values, n, largest);
      *below += of_tile - (begin == 0 ? 0.0 : static_cast<double>(begin) * rise);
    }
  }
  const double nothing = static_cast<double>(largest) - static_cast<double>(largest);  // 0, or NaN where infinite
  return {static_cast<double>(largest), sum + nothing};
}

template <typename T>
void cross_entropy(
    const T* logits, const int64_t* target, arithmetic_t<T>* losses, math::Normalizer* normalizers, int64_t rows,
    int64_t classes, int64_t row_stride, double smoothing, int64_t ignore_index) {
  for (int64_t row = 0; row < rows; ++row) {
    if (target[row] == ignore_index) {
      losses[row] = 0;
      normalizers[row] = {0, 0};
      continue;
    }
    const T* x = logits + row * row_stride;
    double below = 0;
    const math::Normalizer normalizer = normalizer_of(x, classes, smoothing == 0 ? nullptr : &below);
    normalizers[row] = normalizer;
    losses[row] = static_cast<arithmetic_t<T>>(math::cross_entropy_loss(
        normalizer.sum, static_cast<double>(x[target[row]]) - normalizer.largest,
        below / static_cast<double>(classes), smoothing));
  }
}

// grad * (softmax - target distribution), written once. Stores past the cache gained nothing here: a large output is
// fresh memory, which the kernel has just cleared through the cache.
template <typename T>
void cross_entropy_backward(
    const arithmetic_t<T>* grad, const T* logits, const int64_t* target, const math::Normalizer* normalizers,
    T* grad_logits, int64_t rows, int64_t classes, int64_t row_stride, double smoothing, int64_t ignore_index) {
  using A = arithmetic_t<T>;
  for (int64_t row = 0; row < rows; ++row) {
    T* out = grad_logits + row * classes;
    if (target[row] == ignore_index) {
      std::fill(out, out + classes, T(0));
      continue;
    }
    const T* x = logits + row * row_stride;
    const A scale = grad[row];
    const math::ScaledSoftmax<A> softmax(normalizers[row], scale);
    const A shift = scale * static_cast<A>(smoothing / static_cast<double>(classes));
    map_values(x, out, classes, [=](A value) { return softmax(value) - shift; });
    const A at_target = softmax(static_cast<A>(x[target[row]]));
    out[target[row]] = static_cast<T>(at_target - scale * static_cast<A>(1.0 - smoothing) - shift);
  }
}
