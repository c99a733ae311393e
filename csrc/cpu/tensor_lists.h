// Lists of tensors walked as one run of elements: entry i of every list is one parameter and what belongs to it.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cpu/arguments.h"

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

  // Raises, by the operator's name, unless all lists are as long as the first, entry i of each has the shape and dtype
  // of entry i of the first, and what is written shares memory with nothing else.
  TensorLists(const char* op, const std::vector<List>& lists);

  // work(entry, begin, end): elements of one entry. The elements of all entries together are divided among the threads.
  template <typename Work>
  void run(const Work& work) const {
    torch::stable::parallel_for(0, total_, grain, [&](int64_t begin, int64_t end) {
      for (size_t i = entry_of(begin); begin < end; ++i) {
        const Entry& entry = entries_[i];
        if (i + 1 < entries_.size()) {
          fetch_ahead(entries_[i + 1]);
        }
        const int64_t stop = end < entry.end ? end : entry.end;
        work(entry, begin - entry.begin, stop - entry.begin);
        begin = stop;
      }
    });
    copy_back();
  }

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

  // The processor's own prefetching ends with each tensor.
  void fetch_ahead(const Entry& next) const {
    const int64_t bytes = std::min<int64_t>((next.end - next.begin) * (next.dtype == ScalarType::Double ? 8 : 4), 4096);
    for (size_t list = 0; list < lists_.size(); ++list) {
      for (int64_t line = 0; line < bytes; line += 64) {
        __builtin_prefetch(static_cast<const char*>(next.data[list]) + line, 0, 2);
      }
    }
  }

  void add(size_t i);
  void lay_out(size_t i, Entry& entry);
  void note_range(const Tensor& x, int64_t last, size_t list, size_t entry, ScalarType dtype);
  std::string name_of_range(const Range& range) const;
  void expect_disjoint();
  size_t entry_of(int64_t element) const;
  void copy_back() const;

  const char* op_;
  std::vector<List> lists_;
  std::vector<Entry> entries_;
  std::vector<Range> ranges_;
  std::vector<Copy> copies_;
  int64_t total_ = 0;
};

}  // namespace atlas
