// Lists of tensors walked as one run of elements: entry i of every list is one parameter and what belongs to it.
#pragma once

#include <array>
#include <vector>

#include "memory_ranges.h"
#include "tensor_list.h"

namespace atlas {

struct List {
  const char* name;
  const TensorList& tensors;
  bool written;
  // May also be one 1-d tensor for all entries: their elements one after another, each in the order of its first
  // tensor in memory, or row by row where that one has gaps.
  bool may_be_flat = false;
};

class TensorLists {
 public:
  static constexpr size_t most = 5;

  struct Entry {
    ScalarType dtype;
    int64_t begin, end;  // of all elements
    std::array<void*, most> data;

    template <typename T>
    T* at(size_t list, int64_t element) const {
      return static_cast<T*>(data[list]) + element;
    }
  };

  // Raises, by the operator's name, unless all lists are as long as the first or flat, all tensors are on one device,
  // entry i of each has the shape and dtype of entry i of the first, and what is written shares memory with nothing else.
  TensorLists(const char* op, const std::vector<List>& lists);

  const std::vector<Entry>& entries() const { return entries_; }  // those that have elements
  size_t width() const { return lists_.size(); }
  int64_t total() const { return total_; }
  // After the work: what was written to a copy goes to its original.
  void copy_back() const;

 private:
  // A tensor whose elements do not lie as the first list's do, and its elements laid out so.
  struct Copy {
    Tensor original, laid_out;
    bool written;
  };

  void find_flat(size_t which);
  void add(size_t i);
  void* place(size_t i, size_t which, bool& contiguous);
  void lay_out(size_t i, Entry& entry);
  void note_range(const void* data, int64_t count, size_t entry, size_t list);
  void finish_flat(size_t which);
  std::string name_of_range(const MemoryRange& range) const;
  bool filled(const MemoryRange& range) const;
  void expect_disjoint();

  const char* op_;
  std::vector<List> lists_;
  std::vector<Entry> entries_;
  std::array<std::vector<MemoryRange>, most> ranges_;  // of each list
  std::array<char*, most> flat_{};  // where a flat list begins
  std::vector<Copy> copies_;
  int64_t total_ = 0;
  int32_t device_ = 0;
  // Of the entry being added.
  int32_t code_ = -1;  // of its dtype, in the shim's numbers
  ScalarType dtype_ = ScalarType::Float;
  const int64_t* sizes_ = nullptr;
  int64_t dim_ = 0, count_ = 0;
};

}  // namespace atlas
