// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

// step(a, b, c, d, e) on element i of up to five runs; the first, third, fourth and fifth are written. A 16-bit type is
// taken through float a tile at a time.
template <typename T, size_t lists, typename Step>
inline void step_values(T* const (&data)[lists], int64_t count, const Step& step) {
  using A = arithmetic_t<T>;
  const auto walk = [&](A* const (&run)[lists], int64_t n) {
    if constexpr (lists == 2) {
      A *param = run[0], *grad = run[1];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        step(param[i], grad[i]);
      }
    } else if constexpr (lists == 3) {
      A *param = run[0], *grad = run[1], *buffer = run[2];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        step(param[i], grad[i], buffer[i]);
      }
    } else if constexpr (lists == 4) {
      A *param = run[0], *grad = run[1], *first = run[2], *second = run[3];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        step(param[i], grad[i], first[i], second[i]);
      }
    } else {
      A *param = run[0], *grad = run[1], *first = run[2], *second = run[3], *largest = run[4];
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        step(param[i], grad[i], first[i], second[i], largest[i]);
      }
    }
  };
  if constexpr (sizeof(T) > 2) {
    walk(data, count);
  } else {
    float tiles[lists][tile];
    float* run[lists];
    for (int64_t begin = 0; begin < count; begin += tile) {
      const int64_t n = std::min(tile, count - begin);
      for (size_t list = 0; list < lists; ++list) {
        run[list] = tiles[list];
        widen(data[list] + begin, run[list], n);
      }
      walk(run, n);
      for (size_t list = 0; list < lists; ++list) {
        if (list != 1) {
          narrow(run[list], data[list] + begin, n);
        }
      }
    }
  }
}

template <typename T>
void sgd_step(const math::SgdFactors<arithmetic_t<T>>& factors, T* param, T* grad, T* buffer, int64_t count) {
  using A = arithmetic_t<T>;
  const auto by = factors;
  if (buffer) {
    T* const data[] = {param, grad, buffer};
    step_values(data, count, [&](A& p, A g, A& b) { math::sgd_momentum(by, p, g, b); });
  } else {
    T* const data[] = {param, grad};
    step_values(data, count, [&](A& p, A g) { math::sgd(by, p, g); });
  }
}

template <typename T>
void adamw_step(
    const math::AdamwFactors<arithmetic_t<T>>& factors, T* param, T* grad, T* exp_avg, T* exp_avg_sq, T* largest,
    int64_t count) {
  using A = arithmetic_t<T>;
  const auto by = factors;
  if (largest) {
    T* const data[] = {param, grad, exp_avg, exp_avg_sq, largest};
    step_values(data, count, [&](A& p, A g, A& m, A& v, A& most) { math::adamw_amsgrad(by, p, g, m, v, most); });
  } else {
    T* const data[] = {param, grad, exp_avg, exp_avg_sq};
    step_values(data, count, [&](A& p, A g, A& m, A& v) { math::adamw(by, p, g, m, v); });
  }
}
