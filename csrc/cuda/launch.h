// Starting a kernel; the first include of every .cu. nvcc makes it a GPU launch, any other compiler (in tests) a loop over
// the threads on the CPU.
#pragma once

#if defined(__CUDACC__) && !defined(USE_CUDA)
#define USE_CUDA  // PyTorch's C interface declares CUDA's stream only then
#endif

#include "arguments.h"

#if defined(__CUDACC__)

#include <cuda_runtime.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>

#define ATLAS_SHARED(type, name, size) __shared__ type name[size]
#define ATLAS_CUDA_OPERATORS(m) STABLE_TORCH_LIBRARY_IMPL(atlas, CUDA, m)

#else

#include "host_launcher.h"  // tests/operators/host

#define ATLAS_CUDA_OPERATORS(m) STABLE_TORCH_LIBRARY_IMPL(atlas_on_host, CPU, m)

#endif

namespace atlas::cuda {

using torch::headeronly::DeviceType;

#if defined(ATLAS_HOST_LAUNCHER)
constexpr DeviceType device_type = DeviceType::CPU;
#else
constexpr DeviceType device_type = DeviceType::CUDA;
#endif

// Run `kernel` on the device and the current stream of `on`. Raises when CUDA refuses to start it.
template <typename... Parameters, typename... Arguments>
void launch(const char* op, const Tensor& on, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
            Arguments... arguments) {
#if defined(ATLAS_HOST_LAUNCHER)
  host::run_grid(blocks, threads, [&] { kernel(arguments...); });
#else
  const torch::stable::accelerator::DeviceGuard guard(on.get_device_index());
  void* stream = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(on.get_device_index(), &stream));
  kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
  const cudaError_t error = cudaGetLastError();
  expect(
      error == cudaSuccess, op, ": expected CUDA to start ", blocks.x, " x ", blocks.y, " blocks of ", threads.x, " x ",
      threads.y, " threads; received ", cudaGetErrorString(error));
#endif
}

// Raise unless x is a CUDA tensor of a floating dtype.
inline void expect_floating(const char* op, const char* argument, const Tensor& x) {
  expect(
      x.device().type() == device_type, op, ": expected ", argument,
      " on a CUDA device; received a tensor on another device");
  expect_floating_dtype(op, argument, x);
}

// Raise unless y has x's device, dtype and shape.
inline void expect_like(const char* op, const char* name, const Tensor& x, const char* other, const Tensor& y) {
  expect_same_device(op, name, x, other, y);
  expect_same_dtype(op, name, x, other, y);
  expect_same_shape(op, name, x, other, y);
}

}  // namespace atlas::cuda
