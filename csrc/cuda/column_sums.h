// Gradients of what was broadcast along the rows: a bias, a weight.
#pragma once

#include "cuda/rows.h"

#include <algorithm>

#include "cuda/column_sums_kernels.h"

namespace atlas::cuda {

// total (columns,) or of one element = the sum of value(row, column) over rows, or over both.
template <typename T, typename Value>
void column_sums(const char* op, const Value& value, int64_t rows, int64_t columns, const Tensor& total) {
  using A = arithmetic_t<T>;
  if (rows == 0 || columns == 0) {
    Tensor zeros = total;
    torch::stable::zero_(zeros);
    return;
  }
  // Enough blocks to fill a large GPU, as few parts as that takes; by the shape alone, so that sums repeat.
  const int64_t strips = (columns + strip - 1) / strip;
  const int64_t most = std::clamp<int64_t>(1024 / strips, 1, 256);
  const int64_t rows_of_each = std::max<int64_t>((rows + most - 1) / most, strip_walkers);
  const int64_t parts = (rows + rows_of_each - 1) / rows_of_each;
  const Tensor of_parts = torch::stable::new_empty(total, {parts, columns}, arithmetic_dtype(total));
  launch(
      op, total, part_sums<A, Value>, dim3(static_cast<unsigned>(strips), static_cast<unsigned>(parts)),
      strip * strip_walkers, value, write<A>(of_parts), rows, columns, rows_of_each);
  if (total.numel() == columns) {
    const unsigned blocks = static_cast<unsigned>((columns + 127) / 128);
    launch(op, total, add_parts<T, A>, blocks, 128, read<A>(of_parts), write<T>(total), parts, columns);
  } else {
    launch(op, total, add_everything<T, A>, 1, 256, read<A>(of_parts), write<T>(total), parts * columns);
  }
}

}  // namespace atlas::cuda
