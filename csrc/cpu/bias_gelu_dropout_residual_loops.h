// Compiled once per instruction set by each_instruction_set.h; hence no include guard. x is seen as rows of `columns`;
// begin and end count elements.
#include "cpu/philox_lanes.h"
#include "cpu/widened.h"

constexpr int64_t random_block = math::random_block;

// keep[i] = the scale of element first + i, or 0 where it is dropped. `first` is a multiple of 64; up to `count` rounded
// up to one are written.
template <typename A>
inline void keep_or_drop(A* keep, int64_t first, int64_t count, const math::Dropout& dropout) {
  const A scale = static_cast<A>(dropout.scale);
  if (dropout.threshold == 0) {
    std::fill(keep, keep + count, scale);
    return;
  }
  uint32_t words[random_block];
  for (int64_t begin = 0; begin < count; begin += random_block) {
    philox_lanes(static_cast<uint64_t>(first + begin) / random_block * math::random_lanes, dropout.seed, words);
    for (int64_t i = 0; i < random_block; ++i) {
      keep[begin + i] = words[i] >= dropout.threshold ? scale : A(0);
    }
  }
}

// each(offset in the tile, column, length): the parts of rows that `count` elements from `begin` cover.
template <typename Each>
inline void for_parts_of_rows(int64_t begin, int64_t count, int64_t columns, const Each& each) {
  int64_t column = begin % columns;
  for (int64_t i = 0; i < count;) {
    const int64_t length = std::min(count - i, columns - column);
    each(i, column, length);
    i += length;
    column = 0;
  }
}

// A tile of x + bias and of the mask, where the loops below start.
template <typename A>
struct Tile {
  A wide[tile], shifted[tile], keep_block[tile + 2 * random_block];
  const A* keep;

  template <typename T>
  void load(const T* x, const A* bias, int64_t columns, int64_t begin, int64_t count, const math::Dropout& dropout) {
    const int64_t into = begin % random_block;
    keep_or_drop(keep_block, begin - into, into + count, dropout);
    keep = keep_block + into;
    const A* values = widened(x + begin, wide, count);
    for_parts_of_rows(begin, count, columns, [&](int64_t i, int64_t column, int64_t length) {
      for (int64_t j = 0; j < length; ++j) {
        shifted[i + j] = values[i + j] + bias[column + j];
      }
    });
  }
};

template <typename T>
void bias_gelu_dropout_residual(
    const T* x, const arithmetic_t<T>* bias, const T* residual, T* y, int64_t columns, int64_t begin, int64_t end,
    const math::Dropout& dropout) {
  using A = arithmetic_t<T>;
  Tile<A> at;
  A wide[tile], results[tile];
  for (; begin < end; begin += tile) {
    const int64_t n = std::min(tile, end - begin);
    at.load(x, bias, columns, begin, n, dropout);
    const A* __restrict rest = widened(residual + begin, wide, n);
    A* __restrict to = results_in(y + begin, results);
    for (int64_t i = 0; i < n; ++i) {
      const A kept = at.keep[i] * math::gelu_tanh(at.shifted[i]);
      to[i] = rest[i] + (at.keep[i] != A(0) ? kept : A(0));
    }
    finish(to, y + begin, n);
  }
}

// grad_bias: `columns` sums, added to in the order of rows.
template <typename T>
void bias_gelu_dropout_residual_backward(
    const T* grad, const T* x, const arithmetic_t<T>* bias, T* grad_x, double* grad_bias, int64_t columns,
    int64_t begin, int64_t end, const math::Dropout& dropout) {
  using A = arithmetic_t<T>;
  Tile<A> at;
  A wide[tile], results[tile];
  for (; begin < end; begin += tile) {
    const int64_t n = std::min(tile, end - begin);
    at.load(x, bias, columns, begin, n, dropout);
    const A* __restrict upstream = widened(grad + begin, wide, n);
    A* __restrict to = results_in(grad_x + begin, results);
    for (int64_t i = 0; i < n; ++i) {
      const A kept = upstream[i] * at.keep[i] * math::gelu_tanh_derivative(at.shifted[i]);
      to[i] = at.keep[i] != A(0) ? kept : A(0);
    }
    for_parts_of_rows(begin, n, columns, [&](int64_t i, int64_t column, int64_t length) {
      for (int64_t j = 0; j < length; ++j) {
        grad_bias[column + j] += static_cast<double>(to[i + j]);
      }
    });
    finish(to, grad_x + begin, n);
  }
}
