#include "tensor_list.h"

namespace atlas {

TensorList::~TensorList() {
  for (const AtenTensorHandle handle : handles_) {
    aoti_torch_delete_tensor_object(handle);
  }
}

Tensor TensorList::operator[](size_t i) const {
  AtenTensorHandle another;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(handles_[i], &another));
  return Tensor(another);
}

}  // namespace atlas

atlas::TensorList torch::stable::detail::ToImpl<atlas::TensorList>::call(StableIValue value, uint64_t, bool) {
  const auto list = to<StableListHandle>(value);
  size_t size;
  STABLE_TORCH_ERROR_CODE_CHECK(torch_list_size(list, &size));
  std::vector<AtenTensorHandle> handles(size);
  for (size_t i = 0; i < size; ++i) {
    StableIValue element;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_list_get_item(list, i, &element));
    handles[i] = to<AtenTensorHandle>(element);
  }
  STABLE_TORCH_ERROR_CODE_CHECK(torch_delete_list(list));
  return atlas::TensorList(std::move(handles));
}
