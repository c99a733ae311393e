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

// Stores a tile past the cache: a line written whole is then not read first. For outputs larger than the caches only;
// finish_past_cache() before another thread may read them.
template <typename T>
inline void copy_past_cache(const T* from, T* to, int64_t count) {
#if ATLAS_VECTOR_BYTES >= 32
  const auto* source = reinterpret_cast<const char*>(from);
  auto* target = reinterpret_cast<char*>(to);
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  const int64_t lead = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(target) & (ATLAS_VECTOR_BYTES - 1));
  memcpy(target, source, lead);
  int64_t i = lead;
  for (; i + ATLAS_VECTOR_BYTES <= bytes; i += ATLAS_VECTOR_BYTES) {
#if ATLAS_VECTOR_BYTES == 64
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target + i), _mm512_loadu_si512(source + i));
#else
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target + i), values);
#endif
  }
  memcpy(target + i, source + i, bytes - i);
#else
  memcpy(to, from, count * sizeof(T));
#endif
}

inline void finish_past_cache() {
#if ATLAS_VECTOR_BYTES >= 32
  _mm_sfence();
#endif
}

// A computed tile into its place in an output.
template <typename T>
inline void store_tile(const arithmetic_t<T>* tile, T* to, int64_t count, bool past_cache) {
  if constexpr (sizeof(T) == 2) {
    narrow(tile, to, count);
  } else if (past_cache) {
    copy_past_cache(tile, to, count);
  } else {
    memcpy(to, tile, count * sizeof(T));
  }
}
