// Philox4x32-10: random words as a pure function of (counter, key), so that every element's are known without any other.
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include "math/numeric.h"

namespace atlas::math {

struct RandomWords {
  uint32_t word[4];
};

constexpr uint32_t philox_multipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr uint32_t philox_steps[2] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int philox_rounds = 10;

ATLAS_FN RandomWords philox(uint64_t counter, uint64_t key) {
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  constexpr uint64_t by0 = philox_multipliers[0], by1 = philox_multipliers[1];  // a GPU has no arrays of the host
  constexpr uint32_t step0 = philox_steps[0], step1 = philox_steps[1];
  for (int round = 0; round < philox_rounds; ++round) {
    const uint64_t first = by0 * c0;
    const uint64_t second = by1 * c2;
    c0 = static_cast<uint32_t>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(second);
    c2 = static_cast<uint32_t>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(first);
    k0 += step0;
    k1 += step1;
  }
  return {{c0, c1, c2, c3}};
}

// Which word an element takes: number (i / 16) % 4 of counter 16 (i / 64) + i % 16, so that sixteen counters side by
// side fill 64 neighbours without moving words between lanes.
constexpr uint64_t random_lanes = 16, random_block = 64;

ATLAS_FN uint32_t random_word(uint64_t element, uint64_t seed) {
  const uint64_t counter = element / random_block * random_lanes + element % random_lanes;
  return philox(counter, seed).word[element / random_lanes % 4];
}

// Dropout: an element is kept, and scaled, when its word is at least `threshold`, p * 2^32.
struct Dropout {
  uint64_t seed;
  uint32_t threshold;
  double scale;
};

inline Dropout dropout_of(double p, int64_t seed) {
  const double words = 4294967296.0 * p + 0.5;
  const uint32_t threshold = words >= 4294967295.0 ? 4294967295u : static_cast<uint32_t>(words);
  return {static_cast<uint64_t>(seed), threshold, p < 1 ? 1 / (1 - p) : 0.0};
}

}  // namespace atlas::math
