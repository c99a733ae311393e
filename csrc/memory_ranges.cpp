#include "memory_ranges.h"

#include <algorithm>

namespace atlas {

// Sorted by address: what is written may reach into nothing after it, and nothing before may reach into it.
std::optional<std::pair<MemoryRange, MemoryRange>> first_overlap(std::vector<MemoryRange>* lists, size_t count) {
  const auto by_begin = [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; };
  std::vector<MemoryRange> all, longer;  // a list is mostly in order as it was allocated: merged, not sorted
  for (size_t which = 0; which < count; ++which) {
    std::vector<MemoryRange>& own = lists[which];
    if (!std::is_sorted(own.begin(), own.end(), by_begin)) {
      std::sort(own.begin(), own.end(), by_begin);
    }
    longer.resize(all.size() + own.size());
    std::merge(all.begin(), all.end(), own.begin(), own.end(), longer.begin(), by_begin);
    all.swap(longer);
  }
  const MemoryRange *farthest = nullptr, *farthest_written = nullptr;
  for (const MemoryRange& range : all) {
    const MemoryRange* before = range.written ? farthest : farthest_written;
    if (before && before->end > range.begin) {
      return std::pair{*before, range};
    }
    farthest = !farthest || range.end > farthest->end ? &range : farthest;
    if (range.written) {
      farthest_written = !farthest_written || range.end > farthest_written->end ? &range : farthest_written;
    }
  }
  return std::nullopt;
}

}  // namespace atlas
