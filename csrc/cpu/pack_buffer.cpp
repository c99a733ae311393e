#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "cpu/gemm.h"

namespace atlas {
namespace {

constexpr int64_t page_bytes = 4096;
constexpr int64_t huge_page_bytes = int64_t{2} << 20;

struct Block {
  void* memory = nullptr;
  int64_t bytes = 0;

  void grow(int64_t asked) {
    const int64_t alignment = asked >= huge_page_bytes / 4 ? huge_page_bytes : page_bytes;
    const int64_t rounded = (asked + alignment - 1) / alignment * alignment;
    void* fresh = std::aligned_alloc(alignment, rounded);
    if (fresh == nullptr) {
      throw std::bad_alloc();
    }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (alignment == huge_page_bytes) {
      madvise(fresh, rounded, MADV_HUGEPAGE);  // refused: the pages stay small
    }
#endif
    std::free(memory);
    memory = fresh;
    bytes = rounded;
  }

  ~Block() {
    std::free(memory);
  }
};

}  // namespace

void* pack_buffer(PackedSide side, int64_t bytes) {
  thread_local Block blocks[2];
  Block& block = blocks[side == PackedSide::left ? 0 : 1];
  if (block.bytes < bytes) {
    block.grow(bytes);
  }
  return block.memory;
}

int64_t l2_cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t reported = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return reported > 0 ? reported : int64_t{512} << 10;
#else
  return int64_t{512} << 10;
#endif
}

}  // namespace atlas
