#include "cpu/fresh_output.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace atlas {
namespace {

// From here on a block holds at least one whole huge page, wherever it starts; asking costs a microsecond.
constexpr uintptr_t least_bytes = 4u << 20;

}  // namespace

Tensor in_huge_pages(Tensor fresh) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const uintptr_t bytes = static_cast<uintptr_t>(fresh.numel()) * fresh.element_size();
  if (fresh.is_cpu() && bytes >= least_bytes) {
    // Whole pages inside the block only: its first and last page may belong to something else as well.
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t start = reinterpret_cast<uintptr_t>(fresh.mutable_data_ptr());
    const uintptr_t first = (start + page - 1) / page * page;
    const uintptr_t last = (start + bytes) / page * page;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // refused: the pages stay small
  }
#endif
  return fresh;
}

Tensor fresh_like(const Tensor& x) {
  return in_huge_pages(torch::stable::empty_like(x));
}

}  // namespace atlas
