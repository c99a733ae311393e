// Widening a run of values to the type arithmetic is done in (float for the 16-bit types) and back.
// Included once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
struct Arithmetic {
  using type = T;
};
template <>
struct Arithmetic<c10::BFloat16> {
  using type = float;
};
template <>
struct Arithmetic<c10::Half> {
  using type = float;
};
template <typename T>
using arithmetic_t = typename Arithmetic<T>::type;

// Values a loop takes through a buffer at once: 16-bit inputs are widened a tile at a time, inside the L1 cache.
constexpr int64_t tile = 1024;

inline void widen(const c10::BFloat16* from, float* to, int64_t count) {
  const auto* words = reinterpret_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = math::bits<float>(static_cast<uint32_t>(words[i]) << 16);
  }
}

inline void narrow(const float* from, c10::BFloat16* to, int64_t count) {
  auto* words = reinterpret_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t word = math::bits<uint32_t>(from[i]);
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;  // to nearest, ties to even
    words[i] = static_cast<uint16_t>(from[i] != from[i] ? 0x7fc0u : rounded);
  }
}

inline void widen(const c10::Half* from, float* to, int64_t count) {
  int64_t i = 0;
#if ATLAS_VECTOR_BYTES >= 32
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
#endif
  for (; i < count; ++i) {
    to[i] = static_cast<float>(from[i]);
  }
}

inline void narrow(const float* from, c10::Half* to, int64_t count) {
  int64_t i = 0;
#if ATLAS_VECTOR_BYTES >= 32
  for (; i + 8 <= count; i += 8) {
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i < count; ++i) {
    to[i] = static_cast<c10::Half>(from[i]);
  }
}

// One input value at a time as `map` sees them: map(x) -> y, both in the arithmetic type.
template <typename T, typename Map>
inline void map_values(const T* x, T* y, int64_t count, const Map& map) {
  if constexpr (sizeof(T) > 2) {
    for (int64_t i = 0; i < count; ++i) {
      y[i] = map(x[i]);
    }
  } else {
    float values[tile];
    for (int64_t begin = 0; begin < count; begin += tile) {
      const int64_t n = std::min(tile, count - begin);
      widen(x + begin, values, n);
      for (int64_t i = 0; i < n; ++i) {
        values[i] = map(values[i]);
      }
      narrow(values, y + begin, n);
    }
  }
}

// The same over two inputs: map(a, b) -> y.
template <typename T, typename Map>
inline void map_values(const T* a, const T* b, T* y, int64_t count, const Map& map) {
  if constexpr (sizeof(T) > 2) {
    for (int64_t i = 0; i < count; ++i) {
      y[i] = map(a[i], b[i]);
    }
  } else {
    float left[tile], right[tile];
    for (int64_t begin = 0; begin < count; begin += tile) {
      const int64_t n = std::min(tile, count - begin);
      widen(a + begin, left, n);
      widen(b + begin, right, n);
      for (int64_t i = 0; i < n; ++i) {
        left[i] = map(left[i], right[i]);
      }
      narrow(left, y + begin, n);
    }
  }
}
