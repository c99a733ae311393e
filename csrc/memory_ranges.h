// The memory that tensors take, and where two of them meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace atlas {

struct MemoryRange {
  uintptr_t begin, end;  // bytes
  uint32_t named;  // whose it is, in the caller's numbers
  bool written;
};

// Two ranges that overlap, at least one of them written; the lists are left sorted.
std::optional<std::pair<MemoryRange, MemoryRange>> first_overlap(std::vector<MemoryRange>* lists, size_t count);

// Whether a tensor of these strides and sizes has two elements at one place.
bool elements_meet(std::vector<std::pair<int64_t, int64_t>> steps);

}  // namespace atlas
