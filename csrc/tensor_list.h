// A list of tensors as an operator is handed it.
#pragma once

#include <utility>
#include <vector>

#include "arguments.h"

namespace atlas {

// Owns the handles. A Tensor for each would cost two allocations more.
class TensorList {
 public:
  explicit TensorList(std::vector<AtenTensorHandle> owned) : handles_(std::move(owned)) {}
  TensorList(TensorList&& other) noexcept : handles_(std::exchange(other.handles_, {})) {}
  TensorList(const TensorList&) = delete;
  TensorList& operator=(const TensorList&) = delete;
  ~TensorList();

  size_t size() const { return handles_.size(); }
  bool empty() const { return handles_.empty(); }
  AtenTensorHandle handle(size_t i) const { return handles_[i]; }  // stays this list's
  Tensor operator[](size_t i) const;

 private:
  std::vector<AtenTensorHandle> handles_;
};

}  // namespace atlas

template <>
struct torch::stable::detail::ToImpl<atlas::TensorList> {
  static atlas::TensorList call(StableIValue value, uint64_t extension_build_version, bool is_internal);
};
