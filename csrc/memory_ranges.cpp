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

// Where a stride does not step over all that smaller ones reach, elements may still lie apart: each place is looked at.
bool elements_meet(std::vector<std::pair<int64_t, int64_t>> steps) {
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0, count = 1;
  bool apart = true;
  for (const auto& [stride, size] : steps) {
    apart = apart && (size <= 1 || stride > reach);
    reach += stride * (size - 1);
    count *= size;
  }
  if (apart || count == 0) {
    return false;
  }
  std::vector<bool> taken(reach + 1);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0, rest = i;
    for (const auto& [stride, size] : steps) {
      place += rest % size * stride;
      rest /= size;
    }
    if (taken[place]) {
      return true;
    }
    taken[place] = true;
  }
  return false;
}

}  // namespace atlas
