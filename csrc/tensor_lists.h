// Lists of tensors walked as one run of elements: entry i of every list is one parameter and what belongs to it.
#pragma once

#include <array>
#include <vector>

#include "arguments.h"

namespace atlas {

struct List {
  const char* name;
  const std::vector<Tensor>& tensors;
  bool written;
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

  // Raises, by the operator's name, unless all lists are as long as the first, all tensors are on one device, entry i of
  // each has the shape and dtype of entry i of the first, and what is written shares memory with nothing else.
  TensorLists(const char* op, const std::vector<List>& lists);

  const std::vector<Entry>& entries() const { return entries_; }  // those that have elements
  size_t width() const { return lists_.size(); }
  int64_t total() const { return total_; }
  // After the work: what was written to a copy goes to its original.
  void copy_back() const;

 private:
  struct Range {
    uintptr_t begin, end;
    uint32_t named;  // entry times the number of lists, plus the list
    bool written;
  };
  // A tensor whose elements do not lie as the first list's do, and its elements laid out so.
  struct Copy {
    Tensor original, laid_out;
    bool written;
  };

  void add(size_t i);
  void lay_out(size_t i, Entry& entry);
  void note_range(const Tensor& x, int64_t last, size_t list, size_t entry, ScalarType dtype);
  std::string name_of_range(const Range& range) const;
  void expect_disjoint();

  const char* op_;
  std::vector<List> lists_;
  std::vector<Entry> entries_;
  std::vector<Range> ranges_;
  std::vector<Copy> copies_;
  int64_t total_ = 0;
  int8_t device_ = 0;
};

}  // namespace atlas
