// Pieces of loops over a row, a tile of it at a time. Included once per instruction set; hence no include guard.

// The tile itself, or its 16-bit values widened into `buffer`.
template <typename T>
inline const arithmetic_t<T>* widened(const T* from, arithmetic_t<T>* buffer, int64_t count) {
  if constexpr (sizeof(T) > 2) {
    return from;
  } else {
    widen(from, buffer, count);
    return buffer;
  }
}

template <typename A>
inline double sum_of(const A* x, int64_t count) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    sum += x[i];
  }
  return static_cast<double>(sum);
}

// Starts loading a row that is needed next, while arithmetic on this one leaves the memory idle: the hardware's own
// prefetching stops at every page, which for rows of 4 KiB is every row. Far longer rows it follows by itself.
template <typename T>
inline void prefetch_row(const T* x, int64_t columns) {
  constexpr int64_t line = 64 / sizeof(T), longest = 32768 / sizeof(T);
  for (int64_t i = 0; i < std::min(columns, longest); i += line) {
    __builtin_prefetch(x + i, 0, 2);
  }
}
