#include "tensor_lists.h"

#include <algorithm>

namespace atlas {
namespace {

// Names are put together only for a message: a list may hold hundreds of tensors.
std::string name_of(const List& list, size_t i) {
  return std::string(list.name) + "[" + std::to_string(i) + "]";
}

bool same_numbers(torch::headeronly::IntHeaderOnlyArrayRef a, torch::headeronly::IntHeaderOnlyArrayRef b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

int64_t element_bytes(ScalarType dtype) {
  return dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
}

void expect_like(const char* op, const List& first, const List& list, size_t i, ScalarType dtype, int8_t device) {
  const Tensor &leader = first.tensors[i], &x = list.tensors[i];
  if (x.get_device() != device || x.scalar_type() != dtype || !same_numbers(x.sizes(), leader.sizes())) {
    const std::string led = name_of(first, i), name = name_of(list, i);
    expect_same_device(op, led.c_str(), leader, name.c_str(), x);
    expect_floating_dtype(op, name.c_str(), x);
    expect_same_dtype(op, led.c_str(), leader, name.c_str(), x);
    expect_same_shape(op, led.c_str(), leader, name.c_str(), x);
  }
}

void expect_own_memory(const char* op, const List& list, size_t i) {
  const Tensor& x = list.tensors[i];
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.stride(d) == 0 && x.size(d) > 1) {
      expect(
          false, op, ": expected ", name_of(list, i), " with memory of its own for every element; received one that is ",
          "expanded along dimension ", d);
    }
  }
}

}  // namespace

TensorLists::TensorLists(const char* op, const std::vector<List>& lists) : op_(op), lists_(lists) {
  const List& first = lists.front();
  for (const List& list : lists) {
    expect(
        list.tensors.size() == first.tensors.size(), op, ": expected as many ", list.name, " as ", first.name, ", ",
        first.tensors.size(), "; received ", list.tensors.size());
  }
  device_ = first.tensors.empty() ? 0 : first.tensors[0].get_device();
  entries_.reserve(first.tensors.size());
  ranges_.reserve(lists.size() * first.tensors.size());
  for (size_t i = 0; i < first.tensors.size(); ++i) {
    add(i);
  }
  expect_disjoint();
}

void TensorLists::add(size_t i) {
  const List& first = lists_.front();
  const Tensor& leader = first.tensors[i];
  expect_floating_dtype(op_, first.name, leader);
  if (leader.get_device() != device_) {
    expect_same_device(op_, name_of(first, 0).c_str(), first.tensors[0], name_of(first, i).c_str(), leader);
  }
  const ScalarType dtype = leader.scalar_type();
  const int64_t count = leader.numel();
  Entry entry{dtype, total_, total_ + count, {}};
  bool contiguous = true;
  for (size_t which = 0; which < lists_.size(); ++which) {
    const Tensor& x = lists_[which].tensors[i];
    if (which > 0) {
      expect_like(op_, first, lists_[which], i, dtype, device_);
    }
    if (x.is_contiguous()) {
      note_range(x, count - 1, which, i, dtype);
    } else {
      contiguous = false;
      if (lists_[which].written) {
        expect_own_memory(op_, lists_[which], i);
      }
      int64_t last = 0;
      for (int64_t d = 0; d < x.dim(); ++d) {
        last += (x.size(d) - 1) * x.stride(d);
      }
      note_range(x, last, which, i, dtype);
    }
    entry.data[which] = reinterpret_cast<void*>(ranges_.back().begin);
  }
  if (count == 0) {
    ranges_.resize(ranges_.size() - lists_.size());
    return;
  }
  if (!contiguous) {
    lay_out(i, entry);
  }
  entries_.push_back(entry);
  total_ += count;
}

// Every tensor of entry i in the layout of its first, itself or a copy.
void TensorLists::lay_out(size_t i, Entry& entry) {
  const Tensor run = dense(lists_.front().tensors[i]);
  for (size_t which = 0; which < lists_.size(); ++which) {
    const Tensor& x = lists_[which].tensors[i];
    Tensor laid_out = which == 0 ? run : in_layout_of(run, x);
    entry.data[which] = laid_out.data_ptr();
    if (entry.data[which] != x.data_ptr()) {
      copies_.push_back({x, std::move(laid_out), lists_[which].written});
    }
  }
}

// `last` is the offset of the last element from the first.
void TensorLists::note_range(const Tensor& x, int64_t last, size_t list, size_t entry, ScalarType dtype) {
  const auto begin = reinterpret_cast<uintptr_t>(x.data_ptr());
  const auto named = static_cast<uint32_t>(entry * lists_.size() + list);
  ranges_.push_back({begin, begin + (last + 1) * element_bytes(dtype), named, lists_[list].written});
}

std::string TensorLists::name_of_range(const Range& range) const {
  return name_of(lists_[range.named % lists_.size()], range.named / lists_.size());
}

// Sorted by address: what is written may reach into nothing after it, and nothing before may reach into it.
void TensorLists::expect_disjoint() {
  const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), by_begin)) {
    std::sort(ranges_.begin(), ranges_.end(), by_begin);
  }
  const Range *farthest = nullptr, *farthest_written = nullptr;
  for (const Range& range : ranges_) {
    const Range* before = range.written ? farthest : farthest_written;
    if (before && before->end > range.begin) {
      expect(
          false, op_, ": expected tensors that share no memory with one that is written; received ",
          name_of_range(*before), " and ", name_of_range(range), " in the same memory");
    }
    farthest = !farthest || range.end > farthest->end ? &range : farthest;
    if (range.written) {
      farthest_written = !farthest_written || range.end > farthest_written->end ? &range : farthest_written;
    }
  }
}

void TensorLists::copy_back() const {
  for (const Copy& copy : copies_) {
    if (copy.written) {
      Tensor original = copy.original;
      torch::stable::copy_(original, copy.laid_out);
    }
  }
}

}  // namespace atlas
