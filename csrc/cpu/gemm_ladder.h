// The rungs below the packed kernel, each as a first attempt is written. Sums in float for the 16-bit types.
// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
arithmetic_t<T> value_at(const MatrixView<const T>& x, int64_t row, int64_t column) {
  return static_cast<arithmetic_t<T>>(x.data[row * x.row_stride + column * x.column_stride]);
}

// i, j, k: one sum at a time; the next addition waits for the last, and B is walked down its columns.
template <typename T>
void naive(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      arithmetic_t<T> sum = 0;
      for (int64_t k = 0; k < a.columns; ++k) {
        sum += value_at(a, i, k) * value_at(b, k, j);
      }
      c.data[i * c.row_stride + j] = static_cast<T>(sum);
    }
  }
}

// sums[j] += left * row[j]: independent sums, which fill vectors.
template <typename T>
void add_scaled_row(arithmetic_t<T> left, const T* row, int64_t stride, arithmetic_t<T>* sums, int64_t count) {
  if (stride == 1) {
    for (int64_t j = 0; j < count; ++j) {
      sums[j] += left * static_cast<arithmetic_t<T>>(row[j]);
    }
  } else {
    for (int64_t j = 0; j < count; ++j) {
      sums[j] += left * static_cast<arithmetic_t<T>>(row[j * stride]);
    }
  }
}

// i, k, j over rows [row, row + rows) and columns [column, column + columns) of c, and all of k, `deep` at a time.
template <typename T>
void multiply_block(
    const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c, int64_t deep) {
  std::vector<arithmetic_t<T>> sums(c.rows * c.columns);
  for (int64_t first = 0; first < a.columns; first += deep) {
    const int64_t last = std::min(a.columns, first + deep);
    for (int64_t i = 0; i < c.rows; ++i) {
      for (int64_t k = first; k < last; ++k) {
        add_scaled_row(
            value_at(a, i, k), b.data + k * b.row_stride, b.column_stride, sums.data() + i * c.columns, c.columns);
      }
    }
  }
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      c.data[i * c.row_stride + j] = static_cast<T>(sums[i * c.columns + j]);
    }
  }
}

// i, k, j: a row of c at a time, B walked along its rows; all of B passes through the caches for every row.
template <typename T>
void ikj(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) {
  for (int64_t i = 0; i < c.rows; ++i) {
    multiply_block(part_of(a, i, 1, 0, a.columns), b, part_of(c, i, 1, 0, c.columns), a.columns);
  }
}

// The same in blocks: 64 rows of c share the 64 x 256 values of B that are in the L1 and L2 caches.
template <typename T>
void tiled(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) {
  constexpr int64_t high = 64, wide = 256, deep = 64;
  for (int64_t i = 0; i < c.rows; i += high) {
    for (int64_t j = 0; j < c.columns; j += wide) {
      const int64_t rows = std::min(high, c.rows - i), columns = std::min(wide, c.columns - j);
      multiply_block(
          part_of(a, i, rows, 0, a.columns), part_of(b, 0, b.rows, j, columns), part_of(c, i, rows, j, columns), deep);
    }
  }
}
