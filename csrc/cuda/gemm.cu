#include "cuda/launch.h"
#include "checks/gemm.h"
#include "math/numeric.h"

#include "cuda/gemm_kernels.h"
#if defined(__CUDACC__)
#include "cuda/gemm_tensor_cores.h"
#endif

namespace atlas::cuda {
namespace {

template <typename T>
Matrix<T> matrix(const Tensor& x) {
  return {read<T>(x), x.size(0), x.size(1), x.stride(0), x.stride(1)};
}

unsigned tiles(const Tensor& c, int64_t side) {
  const int64_t count = ((c.size(0) + side - 1) / side) * ((c.size(1) + side - 1) / side);
  expect(count < int64_t{1} << 31, "gemm: expected at most 2^31 tiles of the result; received shape ", shape_text(c));
  return static_cast<unsigned>(count);
}

template <typename T>
void multiply_on_tensor_cores(const Tensor& a, const Tensor& b, const Tensor& c) {
  if constexpr (sizeof(T) == 2) {
#if defined(__CUDACC__)
    launch("gemm", c, gemm_on_tensor_cores<T>, tiles(c, cores_tile), cores_threads, matrix<T>(a), matrix<T>(b), write<T>(c));
#else
    expect(false, "gemm: expected a GPU for kernel tensor_cores; received the host launcher, which has no tensor cores");
#endif
  } else {
    expect(
        false, "gemm: expected float16 or bfloat16 for kernel tensor_cores; received ", dtype_text(a.scalar_type()));
  }
}

template <typename T>
void multiply(const Tensor& a, const Tensor& b, const std::string& kernel, const Tensor& c) {
  const auto start = [&](auto* rung, int64_t side) {
    launch("gemm", c, rung, tiles(c, side), gemm_threads, matrix<T>(a), matrix<T>(b), write<T>(c));
  };
  constexpr int side = sizeof(T) == 8 ? 4 : 8;  // doubles fill twice the registers
  if (kernel == "naive") {
    start(gemm_by_element<T, true>, square);
  } else if (kernel == "ikj") {
    start(gemm_by_element<T, false>, square);
  } else if (kernel == "tiled") {
    start(gemm_tiled<T>, square);
  } else if (kernel == "packed") {
    start(gemm_packed<T, side>, 16 * side);
  } else {
    multiply_on_tensor_cores<T>(a, b, c);
  }
}

void expect_product(const Tensor& a, const Tensor& b, const std::string& kernel) {
  expect_floating("gemm", "a", a);
  expect_matrices(a, b);
  const bool known = kernel == "naive" || kernel == "ikj" || kernel == "tiled" || kernel == "packed" ||
      kernel == "tensor_cores" || kernel == "matmul";
  expect(known, "gemm: expected kernel naive, ikj, tiled, packed, tensor_cores or matmul; received ", kernel);
}

}  // namespace

Tensor gemm(const Tensor& a, const Tensor& b, std::string kernel) {
  expect_product(a, b, kernel);
  if (kernel == "matmul") {
    return torch::stable::matmul(a, b);
  }
  Tensor c = torch::stable::new_empty(a, {a.size(0), b.size(1)});
  if (c.numel() == 0) {
    return c;
  }
  if (a.size(1) == 0) {
    return torch::stable::zero_(c);
  }
  for_floating("gemm", a.scalar_type(), [&](auto zero) { multiply<decltype(zero)>(a, b, kernel, c); });
  return c;
}

}  // namespace atlas::cuda

ATLAS_CUDA_OPERATORS(m) {
  m.impl("gemm", TORCH_BOX(&atlas::cuda::gemm));
}
