// The type a kernel computes in: float for the 16-bit types, the element type itself otherwise.
#pragma once

#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

namespace atlas::cuda {

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

// A run of elements moved by one 16-byte instruction.
template <typename T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T values[size];
};

}  // namespace atlas::cuda
