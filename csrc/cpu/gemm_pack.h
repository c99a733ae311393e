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

// A run whose count, a multiple of a vector's, the compiler knows.
template <int64_t count, typename T, typename To>
inline void copy_vectors(const T* from, To* to) {
  if constexpr (std::is_same_v<T, To>) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < count; i += lanes<To>) {
      store(to + i, load(from + i));
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

// Runs ahead of the one being copied that memory is asked for: their distance is too large to be foreseen.
constexpr int64_t ahead = 8;

// Cuts `total` into as few parts of at most `most` as possible, all of nearly one size; part i is [at(i), at(i + 1)).
struct Parts {
  int64_t total, count;
  Parts(int64_t whole, int64_t most) : total(whole), count((whole + most - 1) / most) {}
  int64_t at(int64_t i) const {
    return total / count * i + std::min(i, total % count);
  }
};

template <typename T>
MatrixView<T> part_of(const MatrixView<T>& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return {x.data + row * x.row_stride + column * x.column_stride, rows, columns, x.row_stride, x.column_stride};
}

// The panels of rows [begin, end) of a, of depth a.columns, one after the other.
template <typename Layout, typename T, typename To>
void pack_panels(const MatrixView<const T>& a, const Parts& panels, int64_t begin, int64_t end, To* to) {
  if constexpr (std::is_same_v<Layout, RowsApart<To>>) {
    for (int64_t i = begin; i < end; ++i, to += Layout::panel) {
      for (int64_t row = panels.at(i); row < panels.at(i + 1); ++row) {
        copy_run(
            a.data + row * a.row_stride, a.column_stride, to + (row - panels.at(i)) * Layout::row_step, a.columns);
      }
    }
  } else {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = panels.at(i);
        const T* from = a.data + k * a.column_stride + row * a.row_stride;
        __builtin_prefetch(from + ahead * a.column_stride, 0, 3);
        To* into = to + (i - begin) * Layout::panel + k * Layout::depth_step;
        if (a.row_stride == 1 && row + Layout::copied <= a.rows) {
          copy_vectors<Layout::copied>(from, into);
        } else {
          copy_run(from, a.row_stride, into, panels.at(i + 1) - row);
        }
      }
    }
  }
}

// All columns of b into panels of a tile's width, one after the other, each b.rows deep; what is missing of the last
// panel is zero. Row by row, as memory is read fastest; rows to come are asked for early.
template <typename T, typename To>
void pack_rows_of_columns(const MatrixView<const T>& b, To* to) {
  const int64_t full = b.columns / tile_columns<To>, rest = b.columns % tile_columns<To>;
  for (int64_t k = 0; k < b.rows; ++k) {
    const T* row = b.data + k * b.row_stride;
    To* into = to + k * tile_columns<To>;
    for (int64_t panel = 0; panel < full; ++panel) {
      __builtin_prefetch(row + ahead * b.row_stride + panel * tile_columns<To>, 0, 3);
      __builtin_prefetch(row + ahead * b.row_stride + panel * tile_columns<To> + lanes<To>, 0, 3);
      copy_vectors<tile_columns<To>>(row + panel * tile_columns<To>, into + panel * tile_columns<To> * b.rows);
    }
    if (rest > 0) {
      To* last = into + full * tile_columns<To> * b.rows;
      copy_run(row + full * tile_columns<To>, 1, last, rest);
      std::fill(last + rest, last + tile_columns<To>, To(0));
    }
  }
}

// The same for any strides, a panel at a time.
template <typename T, typename To>
void pack_columns(const MatrixView<const T>& b, To* to) {
  if (b.column_stride == 1) {
    return pack_rows_of_columns(b, to);
  }
  for (int64_t j = 0; j < b.columns; j += tile_columns<To>, to += tile_columns<To> * b.rows) {
    const int64_t columns = std::min<int64_t>(tile_columns<To>, b.columns - j);
    const T* from = b.data + j * b.column_stride;
    if (columns < tile_columns<To>) {
      std::fill(to, to + tile_columns<To> * b.rows, To(0));
    }
    if (b.row_stride == 1) {
      copy_transposed(from, b.column_stride, to, tile_columns<To>, columns, b.rows);
    } else {
      for (int64_t k = 0; k < b.rows; ++k) {
        copy_run(from + k * b.row_stride, b.column_stride, to + k * tile_columns<To>, columns);
      }
    }
  }
}
