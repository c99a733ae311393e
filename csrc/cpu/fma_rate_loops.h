// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

// Multiply-adds on registers alone: enough independent chains to hide the latency of two units. Returns the FLOPs.
template <typename T>
int64_t multiply_add_registers(int64_t rounds) {
  typedef T vector __attribute__((vector_size(ATLAS_VECTOR_BYTES)));
  constexpr int64_t steps = 256;
  constexpr int chains = ATLAS_VECTOR_BYTES == 64 ? 24 : 12;
  vector sum[chains];
  for (int i = 0; i < chains; ++i) {
    sum[i] = vector{} + static_cast<T>(i);
  }
  vector factor = vector{} + T(0.5), term = vector{} + T(1);
  for (int64_t step = 0; step < rounds * steps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) {
      sum[i] = sum[i] * factor + term;
    }
  }
  vector total = {};
  for (int i = 0; i < chains; ++i) {
    total += sum[i];
  }
  volatile T seen = total[0];
  (void)seen;
  return rounds * steps * chains * 2 * static_cast<int64_t>(ATLAS_VECTOR_BYTES / sizeof(T));
}
