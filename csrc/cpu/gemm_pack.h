// Packing: the panels a register tile reads, each one run of memory, widened to the type sums are kept in.
// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T, typename To>
inline void copy_run(const T* from, int64_t stride, To* to, int64_t count) {
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<To>(from[i * stride]);
    }
  } else if constexpr (std::is_same_v<T, To>) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = from[i];
    }
  } else {
    widen(from, to, count);
  }
}

// to[i * to_step + k] = from[i * stride + k] transposed: to[k * to_step + i]; reads run along k, blocks stay in L1.
template <typename T, typename To>
inline void copy_transposed(const T* from, int64_t stride, To* to, int64_t to_step, int64_t count, int64_t depth) {
  constexpr int64_t block = 16;
  for (int64_t k = 0; k < depth; k += block) {
    const int64_t end = std::min(depth, k + block);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t at = k; at < end; ++at) {
        to[at * to_step + i] = static_cast<To>(from[i * stride + at]);
      }
    }
  }
}

// Rows [0, a.rows) of depth a.columns; at most tile_rows of them.
template <typename Layout, typename T, typename To>
void pack_rows(const MatrixView<const T>& a, To* to) {
  if constexpr (std::is_same_v<Layout, RowsApart<To>>) {
    for (int64_t i = 0; i < a.rows; ++i) {
      copy_run(a.data + i * a.row_stride, a.column_stride, to + i * Layout::row_step, a.columns);
    }
  } else {
    for (int64_t k = 0; k < a.columns; ++k) {
      copy_run(a.data + k * a.column_stride, a.row_stride, to + k * Layout::depth_step, a.rows);
    }
  }
}

// Columns [0, b.columns) of depth b.rows, at most a tile's; what is missing of the last vector is zero.
template <typename T, typename To>
void pack_columns(const MatrixView<const T>& b, To* to) {
  if (b.row_stride == 1 && b.column_stride != 1) {
    copy_transposed(b.data, b.column_stride, to, tile_columns<To>, b.columns, b.rows);
  } else {
    for (int64_t k = 0; k < b.rows; ++k) {
      copy_run(b.data + k * b.row_stride, b.column_stride, to + k * tile_columns<To>, b.columns);
    }
  }
  const int64_t padded = (b.columns + lanes<To> - 1) / lanes<To> * lanes<To>;
  for (int64_t k = 0; k < b.rows && b.columns < padded; ++k) {
    std::fill(to + k * tile_columns<To> + b.columns, to + k * tile_columns<To> + padded, To(0));
  }
}
