#include "tensor_lists.h"

#include <algorithm>

namespace atlas {
namespace {

// Names are put together only for a message: a list may hold hundreds of tensors.
std::string name_of(const List& list, size_t i) {
  return std::string(list.name) + "[" + std::to_string(i) + "]";
}

int64_t element_bytes(ScalarType dtype) {
  return dtype == ScalarType::Double ? 8 : dtype == ScalarType::Float ? 4 : 2;
}

// What a function of the C interface gives through its last argument.
template <typename Value>
Value ask(AOTITorchError (*function)(AtenTensorHandle, Value*), AtenTensorHandle x) {
  Value value;
  STABLE_TORCH_ERROR_CODE_CHECK(function(x, &value));
  return value;
}

// Names the first thing in which entry i of a list differs from that of the first.
void expect_like(const char* op, const List& first, const List& list, size_t i) {
  const Tensor leader = first.tensors[i], x = list.tensors[i];
  const std::string led = name_of(first, i), name = name_of(list, i);
  expect_same_device(op, led.c_str(), leader, name.c_str(), x);
  expect_floating_dtype(op, name.c_str(), x);
  expect_same_dtype(op, led.c_str(), leader, name.c_str(), x);
  expect_same_shape(op, led.c_str(), leader, name.c_str(), x);
}

void expect_own_memory(const char* op, const List& list, size_t i, const Tensor& x) {
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.stride(d) == 0 && x.size(d) > 1) {
      expect(
          false, op, ": expected ", name_of(list, i), " with memory of its own for every element; received one that is ",
          "expanded along dimension ", d);
    }
  }
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (int64_t d = 0; d < x.dim(); ++d) {
    steps.emplace_back(x.stride(d), x.size(d));
  }
  if (elements_meet(std::move(steps))) {
    expect(
        false, op, ": expected ", name_of(list, i), " with memory of its own for every element; received one of shape ",
        shape_text(x), " whose strides place several elements in the same memory");
  }
}

}  // namespace

TensorLists::TensorLists(const char* op, const std::vector<List>& lists) : op_(op), lists_(lists) {
  const List& first = lists.front();
  for (size_t which = 1; which < lists.size(); ++which) {
    find_flat(which);
    const List& list = lists[which];
    expect(
        flat_[which] || list.tensors.size() == first.tensors.size(), op, ": expected as many ", list.name, " as ",
        first.name, ", ", first.tensors.size(), "; received ", list.tensors.size());
  }
  device_ = first.tensors.empty() ? 0 : ask(aoti_torch_get_device_index, first.tensors.handle(0));
  entries_.reserve(first.tensors.size());
  for (size_t which = 0; which < lists.size(); ++which) {
    ranges_[which].reserve(lists[which].tensors.size());
  }
  for (size_t i = 0; i < first.tensors.size(); ++i) {
    add(i);
  }
  for (size_t which = 1; which < lists.size(); ++which) {
    finish_flat(which);
  }
  expect_disjoint();
}

// A list of one 1-d tensor, where that is not what entry 0 of the first list looks like anyway.
void TensorLists::find_flat(size_t which) {
  const List &first = lists_.front(), &list = lists_[which];
  if (!list.may_be_flat || list.tensors.size() != 1 || first.tensors.empty()) {
    return;
  }
  const AtenTensorHandle x = list.tensors.handle(0);
  const bool alone = first.tensors.size() == 1 && ask(aoti_torch_get_dim, first.tensors.handle(0)) == 1;
  if (!alone && ask(aoti_torch_get_dim, x) == 1 && ask(aoti_torch_is_contiguous, x)) {
    flat_[which] = static_cast<char*>(ask(aoti_torch_get_data_ptr, x));
    static char nothing;  // an empty tensor has no address
    flat_[which] = flat_[which] ? flat_[which] : &nothing;
  }
}

void TensorLists::finish_flat(size_t which) {
  if (flat_[which]) {
    const Tensor x = lists_[which].tensors[0];
    expect(
        x.numel() == total_, op_, ": expected as many ", lists_[which].name, " as ", lists_.front().name,
        ", or one 1-d tensor of all their elements, ", total_, "; received one of ", x.numel());
    if (total_ > 0) {
      note_range(flat_[which], total_, 0, which);
    }
  }
}

void TensorLists::add(size_t i) {
  const List& first = lists_.front();
  const AtenTensorHandle leader = first.tensors.handle(i);
  if (const int32_t code = ask(aoti_torch_get_dtype, leader); code != code_) {
    expect_floating_dtype(op_, first.name, first.tensors[i]);
    code_ = code;
    dtype_ = first.tensors[i].scalar_type();
  }
  if (ask(aoti_torch_get_device_index, leader) != device_) {
    expect_same_device(op_, name_of(first, 0).c_str(), first.tensors[0], name_of(first, i).c_str(), first.tensors[i]);
  }
  dim_ = ask(aoti_torch_get_dim, leader);
  sizes_ = ask(aoti_torch_get_sizes, leader);
  count_ = 1;
  for (int64_t d = 0; d < dim_; ++d) {
    count_ *= sizes_[d];
  }
  Entry entry{dtype_, total_, total_ + count_, {}};
  bool contiguous = true;
  for (size_t which = 0; which < lists_.size(); ++which) {
    entry.data[which] = place(i, which, contiguous);
  }
  if (count_ == 0) {
    return;
  }
  if (!contiguous) {
    lay_out(i, entry);
  }
  entries_.push_back(entry);
  total_ += count_;
}

// Checks entry i of one list, notes the memory it takes and gives its address.
void* TensorLists::place(size_t i, size_t which, bool& contiguous) {
  const List& list = lists_[which];
  const AtenTensorHandle x = list.tensors.handle(flat_[which] ? 0 : i);
  if (which > 0) {
    const bool alike = ask(aoti_torch_get_dtype, x) == code_ && ask(aoti_torch_get_device_index, x) == device_;
    if (flat_[which]) {
      if (!alike) {
        const std::string led = name_of(lists_.front(), i);
        expect_same_device(op_, led.c_str(), lists_.front().tensors[i], list.name, list.tensors[0]);
        expect_same_dtype(op_, led.c_str(), lists_.front().tensors[i], list.name, list.tensors[0]);
      }
      return flat_[which] + total_ * element_bytes(dtype_);
    }
    if (!alike || ask(aoti_torch_get_dim, x) != dim_ || !std::equal(sizes_, sizes_ + dim_, ask(aoti_torch_get_sizes, x))) {
      expect_like(op_, lists_.front(), list, i);
    }
  }
  void* data = ask(aoti_torch_get_data_ptr, x);
  int64_t last = count_ - 1;
  if (!ask(aoti_torch_is_contiguous, x)) {
    contiguous = false;
    const int64_t* strides = ask(aoti_torch_get_strides, x);
    last = 0;
    for (int64_t d = 0; d < dim_; ++d) {
      last += (sizes_[d] - 1) * strides[d];
    }
    if (list.written) {
      expect_own_memory(op_, list, i, list.tensors[i]);
    }
  }
  if (count_ > 0) {
    note_range(data, last + 1, i, which);
  }
  return data;
}

// Every tensor of entry i in the layout of its first, itself or a copy.
void TensorLists::lay_out(size_t i, Entry& entry) {
  const Tensor run = dense(lists_.front().tensors[i]);
  for (size_t which = 0; which < lists_.size(); ++which) {
    if (flat_[which]) {
      continue;
    }
    const Tensor x = lists_[which].tensors[i];
    Tensor laid_out = which == 0 ? run : in_layout_of(run, x);
    entry.data[which] = laid_out.data_ptr();
    if (entry.data[which] != x.data_ptr()) {
      copies_.push_back({x, std::move(laid_out), lists_[which].written});
    }
  }
}

void TensorLists::note_range(const void* data, int64_t count, size_t entry, size_t list) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const auto named = static_cast<uint32_t>(entry * lists_.size() + list);
  ranges_[list].push_back({begin, begin + count * element_bytes(dtype_), named, lists_[list].written});
}

std::string TensorLists::name_of_range(const MemoryRange& range) const {
  return name_of(lists_[range.named % lists_.size()], range.named / lists_.size());
}

// Whether the tensor has an element at every place of its range.
bool TensorLists::filled(const MemoryRange& range) const {
  const Tensor x = lists_[range.named % lists_.size()].tensors[range.named / lists_.size()];
  return static_cast<uintptr_t>(x.numel() * element_bytes(x.scalar_type())) == range.end - range.begin;
}

void TensorLists::expect_disjoint() {
  if (const auto found = first_overlap(ranges_.data(), lists_.size())) {
    // Ranges with gaps may lie in each other's gaps, unless their first elements are one.
    const bool same = found->first.begin == found->second.begin || (filled(found->first) && filled(found->second));
    expect(
        false, op_, ": expected tensors that share no memory with one that is written; received ",
        name_of_range(found->first), " and ", name_of_range(found->second),
        same ? " in the same memory" : ", whose memory ranges overlap or interleave: clone one of them");
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
