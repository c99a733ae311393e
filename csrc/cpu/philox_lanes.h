// math::philox for sixteen counters side by side. A 64-bit lane holds one 32-bit word of each counter, because the
// multiplications of x86 that give all 64 bits read the low half of such lanes; what is above stays as it falls.
// Compiled once per instruction set; hence no include guard.

#if ATLAS_VECTOR_BYTES == 64
struct WideLanes {
  static constexpr int count = 8;
  __m512i words;
  static WideLanes all(uint32_t word) { return {_mm512_set1_epi64(word)}; }
  static WideLanes counting(uint32_t from) {
    return {_mm512_add_epi64(_mm512_set1_epi64(from), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0))};
  }
  WideLanes times(WideLanes by) const { return {_mm512_mul_epu32(words, by.words)}; }
  // A shuffle, not a shift: the port that multiplies is the busy one.
  WideLanes high() const { return {_mm512_shuffle_epi32(words, _MM_PERM_DDBB)}; }
  WideLanes operator^(WideLanes other) const { return {_mm512_xor_si512(words, other.words)}; }
  void store(uint32_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi64_epi32(words)); }
};
#elif ATLAS_VECTOR_BYTES == 32
struct WideLanes {
  static constexpr int count = 4;
  __m256i words;
  static WideLanes all(uint32_t word) { return {_mm256_set1_epi64x(word)}; }
  static WideLanes counting(uint32_t from) {
    return {_mm256_add_epi64(_mm256_set1_epi64x(from), _mm256_set_epi64x(3, 2, 1, 0))};
  }
  WideLanes times(WideLanes by) const { return {_mm256_mul_epu32(words, by.words)}; }
  WideLanes high() const { return {_mm256_shuffle_epi32(words, 0xF5)}; }
  WideLanes operator^(WideLanes other) const { return {_mm256_xor_si256(words, other.words)}; }
  void store(uint32_t* to) const {
    const __m256i low_halves = _mm256_permutevar8x32_epi32(words, _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(low_halves));
  }
};
#endif

// words[16 w + lane] = word w of counter + lane, the order of the elements that take them; counter a multiple of 16.
inline void philox_lanes(uint64_t counter, uint64_t key, uint32_t* words) {
  constexpr int lanes = math::random_lanes;
#if ATLAS_VECTOR_BYTES >= 32
  constexpr int sets = lanes / WideLanes::count;
  const auto first_by = WideLanes::all(math::philox_multipliers[0]);
  const auto second_by = WideLanes::all(math::philox_multipliers[1]);
  WideLanes c[sets][4];
  for (int i = 0; i < sets; ++i) {
    c[i][0] = WideLanes::counting(static_cast<uint32_t>(counter) + i * WideLanes::count);
    c[i][1] = WideLanes::all(static_cast<uint32_t>(counter >> 32));
    c[i][2] = c[i][3] = WideLanes::all(0);
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < math::philox_rounds; ++round) {
    const auto key0 = WideLanes::all(k0), key1 = WideLanes::all(k1);
    for (int i = 0; i < sets; ++i) {
      const auto first = c[i][0].times(first_by), second = c[i][2].times(second_by);
      c[i][0] = second.high() ^ c[i][1] ^ key0;
      c[i][1] = second;
      c[i][2] = first.high() ^ c[i][3] ^ key1;
      c[i][3] = first;
    }
    k0 += math::philox_steps[0];
    k1 += math::philox_steps[1];
  }
  for (int i = 0; i < sets; ++i) {
    for (int word = 0; word < 4; ++word) {
      c[i][word].store(words + word * lanes + i * WideLanes::count);
    }
  }
#else
  for (int lane = 0; lane < lanes; ++lane) {
    const auto of_lane = math::philox(counter + lane, key);
    for (int word = 0; word < 4; ++word) {
      words[word * lanes + lane] = of_lane.word[word];
    }
  }
#endif
}
