#include <algorithm>
#include <vector>

#include "checks/geglu.h"
#include "cpu/arguments.h"
#include "cpu/fresh_output.h"
#include "cpu/instruction_set.h"
#include "math/gelu.h"

#define ATLAS_LOOPS "cpu/geglu_loops.h"
#include "cpu/each_instruction_set.h"

namespace atlas {
namespace {

// work(first row, last row) over the rows of x, in parallel.
template <typename Work>
void for_rows(const Tensor& x, int64_t half, const Work& work) {
  if (x.numel() > 0) {
    torch::stable::parallel_for(0, x.numel() / (2 * half), std::max<int64_t>(1, grain / (2 * half)), work);
  }
}

}  // namespace

Tensor geglu(const Tensor& self) {
  const auto shape = halved("geglu", self);
  const int64_t half = shape.back();
  const Tensor x = torch::stable::contiguous(self);
  const Tensor y = in_huge_pages(torch::stable::new_empty(x, shape));
  for_floating("geglu", x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_rows(x, half, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        ATLAS_DISPATCH(geglu<T>)(read<T>(x) + row * 2 * half, write<T>(y) + row * half, half);
      }
    });
  });
  return y;
}

Tensor geglu_backward(const Tensor& upstream, const Tensor& self) {
  const char* op = "geglu_backward";
  const int64_t half = halved(op, self, upstream).back();
  const Tensor x = torch::stable::contiguous(self);
  const Tensor grad = torch::stable::contiguous(upstream);
  const Tensor grad_x = fresh_like(x);
  for_floating(op, x.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    for_rows(x, half, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * 2 * half;
        ATLAS_DISPATCH(geglu_backward<T>)(read<T>(grad) + row * half, read<T>(x) + at, write<T>(grad_x) + at, half);
      }
    });
  });
  return grad_x;
}

}  // namespace atlas

STABLE_TORCH_LIBRARY_IMPL(atlas, CPU, m) {
  m.impl("geglu", TORCH_BOX(&atlas::geglu));
  m.impl("geglu_backward", TORCH_BOX(&atlas::geglu_backward));
}
