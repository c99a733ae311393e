// Values to compute with: the input itself where arithmetic is done in its type, else a tile of it widened into `buffer`.
// For loops compiled once per instruction set, after reduced_precision.h; hence no include guard.

template <typename T>
inline const arithmetic_t<T>* widened(const T* from, arithmetic_t<T>* buffer, int64_t count) {
  if constexpr (sizeof(T) > 2) {
    return from;
  } else {
    widen(from, buffer, count);
    return buffer;
  }
}

// Where to compute results to: the output itself, or `buffer`, from which `finish` then narrows them.
template <typename T>
inline arithmetic_t<T>* results_in(T* to, arithmetic_t<T>* buffer) {
  if constexpr (sizeof(T) > 2) {
    return to;
  } else {
    return buffer;
  }
}

template <typename T>
inline void finish(const arithmetic_t<T>* results, T* to, int64_t count) {
  if constexpr (sizeof(T) == 2) {
    narrow(results, to, count);
  }
}
