// A product with a single row or column, which reads its matrix once and is bound by that: nothing is packed.
// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

// `count` values as sums take them: in place, or widened into `room`.
template <typename T, typename To>
inline const To* widened(const T* from, To* room, int64_t count) {
  if constexpr (std::is_same_v<T, To>) {
    return from;
  } else {
    widen(from, room, count);
    return room;
  }
}

// sums[i] += row i of x times v, over `count` values; two independent vectors of sums per row.
template <int rows, typename To>
inline void add_dots(const To* const (&x)[rows], const To* v, int64_t count, To* sums) {
  constexpr int64_t step = 2 * lanes<To>;
  vector_t<To> sum[rows][2] = {};
  int64_t k = 0;
  for (; k + step <= count; k += step) {
    const vector_t<To> first = load(v + k), second = load(v + k + lanes<To>);
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
      sum[i][0] += load(x[i] + k) * first;
      sum[i][1] += load(x[i] + k + lanes<To>) * second;
    }
  }
  for (int i = 0; i < rows; ++i) {
    const vector_t<To> both = sum[i][0] + sum[i][1];
    To total = 0;
    for (int64_t lane = 0; lane < lanes<To>; ++lane) {
      total += both[lane];
    }
    for (int64_t rest = k; rest < count; ++rest) {
      total += x[i][rest] * v[rest];
    }
    sums[i] += total;
  }
}

// y[0, rows) of x v where each row of x is a run.
template <int rows, typename T, typename To>
void rows_times_vector(const MatrixView<const T>& x, const To* v, To* y, int64_t y_stride) {
  To sums[rows] = {};
  To room[rows][sizeof(T) == sizeof(To) ? 1 : tile];
  for (int64_t k = 0; k < x.columns; k += tile) {
    const int64_t count = std::min(tile, x.columns - k);
    const To* runs[rows];
    for (int i = 0; i < rows; ++i) {
      runs[i] = widened(x.data + i * x.row_stride + k, room[i], count);
    }
    add_dots<rows>(runs, v + k, count, sums);
  }
  for (int i = 0; i < rows; ++i) {
    y[i * y_stride] = sums[i];
  }
}

// y[0, x.rows) of x v where each column of x is a run; at most `tile` rows.
template <typename T, typename To>
void columns_times_vector(const MatrixView<const T>& x, const To* v, To* y, int64_t y_stride) {
  alignas(64) To sums[tile] = {};
  To room[4][sizeof(T) == sizeof(To) ? 1 : tile];
  int64_t k = 0;
  const auto column = [&](int64_t j) { return widened(x.data + (k + j) * x.column_stride, room[j], x.rows); };
  for (; k + 4 <= x.columns; k += 4) {
    const To *a = column(0), *b = column(1), *c = column(2), *d = column(3);
    const To at_a = v[k], at_b = v[k + 1], at_c = v[k + 2], at_d = v[k + 3];
#pragma omp simd
    for (int64_t i = 0; i < x.rows; ++i) {
      sums[i] += a[i] * at_a + b[i] * at_b + c[i] * at_c + d[i] * at_d;
    }
  }
  for (; k < x.columns; ++k) {
    const To* a = column(0);
    for (int64_t i = 0; i < x.rows; ++i) {
      sums[i] += a[i] * v[k];
    }
  }
  for (int64_t i = 0; i < x.rows; ++i) {
    y[i * y_stride] = sums[i];
  }
}

// y = x v, y_stride apart. Threads share out the rows of x. One of x's strides must be 1.
template <typename T, typename To>
void times_vector(const MatrixView<const T>& x, const T* v, int64_t v_stride, To* y, int64_t y_stride) {
  To* values = static_cast<To*>(pack_buffer(PackedSide::right, x.columns * sizeof(To)));
  copy_run(v, v_stride, values, x.columns);
  torch::stable::parallel_for(0, x.rows, 1 + vector_grain / x.columns, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    const auto rows_from = [&](int64_t rows) { return part_of(x, i, rows, 0, x.columns); };
    if (x.column_stride == 1) {
      for (; i + 4 <= end; i += 4) {
        rows_times_vector<4>(rows_from(4), values, y + i * y_stride, y_stride);
      }
      for (; i < end; ++i) {
        rows_times_vector<1>(rows_from(1), values, y + i * y_stride, y_stride);
      }
    }
    for (; i < end; i += tile) {
      columns_times_vector(rows_from(std::min(tile, end - i)), values, y + i * y_stride, y_stride);
    }
  });
}
