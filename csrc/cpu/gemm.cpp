#include "cpu/gemm.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "checks/gemm.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "math/numeric.h"

#define ATLAS_LOOPS "cpu/gemm_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
namespace {

template <typename T>
MatrixView<const T> view_of(const Tensor& x) {
  return {read<T>(x), x.size(0), x.size(1), x.stride(0), x.stride(1)};
}

template <typename T>
MatrixView<T> rows_of(const Tensor& c) {
  return {write<T>(c), c.size(0), c.size(1), c.size(1), 1};
}

// The 16-bit types are summed in float over all of k and rounded once.
template <typename T>
void multiply_packed(const Tensor& a, const Tensor& b, const Tensor& c) {
  if constexpr (sizeof(T) > 2) {
    ATLAS_DISPATCH(packed<T, T>)(view_of<T>(a), view_of<T>(b), rows_of<T>(c));
  } else {
    const Tensor sums = in_huge_pages(torch::stable::new_empty(c, {c.size(0), c.size(1)}, ScalarType::Float));
    ATLAS_DISPATCH(packed<T, float>)(view_of<T>(a), view_of<T>(b), rows_of<float>(sums));
    torch::stable::parallel_for(0, c.numel(), grain, [&](int64_t begin, int64_t end) {
      ATLAS_DISPATCH(round_sums<T>)(read<float>(sums) + begin, write<T>(c) + begin, end - begin);
    });
  }
}

template <typename T>
void multiply(const Tensor& a, const Tensor& b, const std::string& kernel, const Tensor& c) {
  if (kernel == "naive") {
    ATLAS_DISPATCH(naive<T>)(view_of<T>(a), view_of<T>(b), rows_of<T>(c));
  } else if (kernel == "ikj") {
    ATLAS_DISPATCH(ikj<T>)(view_of<T>(a), view_of<T>(b), rows_of<T>(c));
  } else if (kernel == "tiled") {
    ATLAS_DISPATCH(tiled<T>)(view_of<T>(a), view_of<T>(b), rows_of<T>(c));
  } else {
    multiply_packed<T>(a, b, c);
  }
}

void expect_product(const Tensor& a, const Tensor& b, const std::string& kernel) {
  expect_matrices(a, b);
  const bool known = kernel == "naive" || kernel == "ikj" || kernel == "tiled" || kernel == "packed" ||
      kernel == "matmul";
  expect(known, "gemm: expected kernel naive, ikj, tiled, packed or matmul; received ", kernel);
}

}  // namespace

// a (M, K) times b (K, N), read through any strides, into a contiguous (M, N).
Tensor gemm(const Tensor& a, const Tensor& b, std::string kernel) {
  expect_product(a, b, kernel);
  if (kernel == "matmul") {
    return torch::stable::matmul(a, b);
  }
  Tensor c = in_huge_pages(torch::stable::new_empty(a, {a.size(0), b.size(1)}));
  if (c.numel() == 0) {
    return c;
  }
  if (a.size(1) == 0) {
    return torch::stable::zero_(c);
  }
  for_floating("gemm", a.scalar_type(), [&](auto zero) { multiply<decltype(zero)>(a, b, kernel, c); });
  return c;
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("gemm", TORCH_BOX(&atlas::gemm));
}
