// Shared memory of a block for the host launcher: an array that watches every access.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace atlas::host {

// When and by whom an element was touched. `thread` and `warp` are -2 when several did between the same barriers.
struct Access {
  uint64_t block_barriers = 0;  // barriers the grid's blocks have passed since the process began
  uint64_t warp_barriers = 0;
  int thread = -1;
  int warp = -1;
};
Access this_access();
uint64_t block_serial();  // which block runs, counted over the whole process
[[noreturn]] void fail(const std::string& what);

// Whether a barrier stands between the two, or the same thread made both.
inline bool ordered(const Access& before, const Access& now) {
  return before.thread == -1 || before.thread == now.thread || before.block_barriers < now.block_barriers ||
      (before.warp == now.warp && before.warp_barriers < now.warp_barriers);
}

template <typename T, int size>
class SharedArray {
 public:
  explicit SharedArray(const char* name) : name_(name) {}

  class Element {
   public:
    Element(SharedArray& array, int64_t index) : array_(array), index_(index) {}
    operator T() const { return array_.get(index_); }
    T operator=(T value) { return array_.set(index_, value); }
    T operator=(const Element& other) { return *this = static_cast<T>(other); }
    T operator+=(T value) { return *this = static_cast<T>(*this) + value; }

   private:
    SharedArray& array_;
    int64_t index_;
  };

  Element operator[](int64_t index) {
    if (index < 0 || index >= size) {
      fail("out of bounds: " + element(index) + " of " + std::to_string(size));
    }
    if (serial_ != block_serial()) {  // a block's shared memory starts undefined
      serial_ = block_serial();
      written_.fill(Access{});
      read_.fill(Access{});
    }
    return Element(*this, index);
  }

 private:
  T get(int64_t index) {
    const Access now = this_access();
    if (written_[index].thread == -1) {
      fail("read before it is written: " + element(index));
    }
    if (!ordered(written_[index], now)) {
      fail("race: " + element(index) + " is read without a barrier after another thread wrote it");
    }
    Access& reads = read_[index];
    if (ordered(reads, now)) {
      reads = now;
    } else {
      reads.thread = -2;
      reads.warp = reads.warp == now.warp ? now.warp : -2;
      reads.warp_barriers = now.warp_barriers;
    }
    return values_[index];
  }

  T set(int64_t index, T value) {
    const Access now = this_access();
    if (!ordered(written_[index], now) || !ordered(read_[index], now)) {
      fail("race: " + element(index) + " is written without a barrier after another thread used it");
    }
    written_[index] = now;
    return values_[index] = value;
  }

  std::string element(int64_t index) const { return std::string(name_) + "[" + std::to_string(index) + "]"; }

  const char* name_;
  uint64_t serial_ = 0;
  std::array<T, size> values_{};
  std::array<Access, size> written_{}, read_{};
};

}  // namespace atlas::host

#define ATLAS_SHARED(type, name, size) static thread_local ::atlas::host::SharedArray<type, size> name(#name)
