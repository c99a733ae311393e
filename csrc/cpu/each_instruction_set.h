// Includes ATLAS_LOOPS once per instruction set, each time in a namespace of that set's name and compiled for it.
// Functions included from elsewhere (csrc/math) are baseline code; they take the caller's set when inlined.
// Inside, ATLAS_VECTOR_BYTES is the register width, ATLAS_VARIANT the namespace. No include guard: one use per file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#define ATLAS_VARIANT baseline
#define ATLAS_VECTOR_BYTES 16
namespace atlas::baseline {
#include "cpu/reduced_precision.h"
#include ATLAS_LOOPS
}  // namespace atlas::baseline
#undef ATLAS_VARIANT
#undef ATLAS_VECTOR_BYTES

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2")
#endif
#define ATLAS_VARIANT avx2
#define ATLAS_VECTOR_BYTES 32
namespace atlas::avx2 {
#include "cpu/reduced_precision.h"
#include ATLAS_LOOPS
}  // namespace atlas::avx2
#undef ATLAS_VARIANT
#undef ATLAS_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c,bmi2,prefer-vector-width=512")
#endif
#define ATLAS_VARIANT avx512
#define ATLAS_VECTOR_BYTES 64
namespace atlas::avx512 {
#include "cpu/reduced_precision.h"
#include ATLAS_LOOPS
}  // namespace atlas::avx512
#undef ATLAS_VARIANT
#undef ATLAS_VECTOR_BYTES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
