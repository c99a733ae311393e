// Walking lists of tensors on the CPU, all their elements divided among the threads.
#pragma once

#include <algorithm>

#include "../tensor_lists.h"  // not this one
#include "cpu/arguments.h"

namespace atlas {

// The processor's own prefetching ends with each tensor.
inline void fetch_ahead(const TensorLists::Entry& next, size_t width) {
  const int64_t bytes = std::min<int64_t>((next.end - next.begin) * (next.dtype == ScalarType::Double ? 8 : 4), 4096);
  for (size_t list = 0; list < width; ++list) {
    for (int64_t line = 0; line < bytes; line += 64) {
      __builtin_prefetch(static_cast<const char*>(next.data[list]) + line, 0, 2);
    }
  }
}

// work(entry, begin, end): elements of one entry.
template <typename Work>
void run(const TensorLists& lists, const Work& work) {
  const auto& entries = lists.entries();
  torch::stable::parallel_for(0, lists.total(), grain, [&](int64_t begin, int64_t end) {
    const auto after = [](int64_t value, const TensorLists::Entry& entry) { return value < entry.end; };
    size_t i = std::upper_bound(entries.begin(), entries.end(), begin, after) - entries.begin();
    for (; begin < end; ++i) {
      const TensorLists::Entry& entry = entries[i];
      if (i + 1 < entries.size()) {
        fetch_ahead(entries[i + 1], lists.width());
      }
      const int64_t stop = end < entry.end ? end : entry.end;
      work(entry, begin - entry.begin, stop - entry.begin);
      begin = stop;
    }
  });
  lists.copy_back();
}

}  // namespace atlas
