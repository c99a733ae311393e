// The blocked product around the register tile. A panel of rows of A stays in L1, a block of B in L2.
// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
using TileFunction = void (*)(const T*, const T*, int64_t, int64_t, T*, int64_t, bool);

// The tile for every number of rows and vectors, so that an edge costs what it computes.
template <typename T, typename Layout, size_t... rows>
TileFunction<T> tile_for(int64_t row_count, int64_t vector_count, std::index_sequence<rows...>) {
  static constexpr TileFunction<T> tiles[][tile_vectors] = {
      {multiply_tile<T, Layout, rows + 1, 1>, multiply_tile<T, Layout, rows + 1, 2>}...};
  return tiles[row_count - 1][vector_count - 1];
}

// Tiles write whole vectors: at the right edge, or where columns are apart, through a tile of their own.
template <typename T>
void place_tile(const T* tile, const MatrixView<T>& c, bool add) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      T& to = c.data[i * c.row_stride + j * c.column_stride];
      const T value = tile[i * tile_columns<T> + j];
      to = add ? to + value : value;
    }
  }
}

// c (at most tile_rows rows) = or += the packed rows times the packed columns, a tile at a time along the columns.
template <typename T, typename Layout>
void multiply_panel(const T* left, const T* right, int64_t depth, const MatrixView<T>& c, bool add) {
  for (int64_t j = 0; j < c.columns; j += tile_columns<T>) {
    const int64_t columns = std::min<int64_t>(tile_columns<T>, c.columns - j);
    const int64_t vectors = (columns + lanes<T> - 1) / lanes<T>;
    const auto tile = tile_for<T, Layout>(c.rows, vectors, std::make_index_sequence<tile_rows>());
    const MatrixView<T> part{c.data + j * c.column_stride, c.rows, columns, c.row_stride, c.column_stride};
    if (c.column_stride == 1 && columns == vectors * lanes<T>) {
      tile(left, right + j * depth, tile_columns<T>, depth, part.data, part.row_stride, add);
    } else {
      alignas(64) T apart[tile_rows * tile_columns<T>];
      tile(left, right + j * depth, tile_columns<T>, depth, apart, tile_columns<T>, false);
      place_tile(apart, part, add);
    }
  }
}

// c = or += a times the packed columns, for the panels of rows [begin, end).
template <typename Layout, typename T, typename To>
void multiply_panels(
    const MatrixView<const T>& a, const To* right, const MatrixView<To>& c, bool add, const Parts& panels, int64_t begin,
    int64_t end) {
  To* left = static_cast<To*>(pack_buffer(PackedSide::left, Layout::at_once * Layout::panel * sizeof(To)));
  for (int64_t first = begin; first < end; first += Layout::at_once) {
    const int64_t last = std::min(end, first + Layout::at_once);
    pack_panels<Layout>(a, panels, first, last, left);
    for (int64_t i = first; i < last; ++i) {
      const auto into = part_of(c, panels.at(i), panels.at(i + 1) - panels.at(i), 0, c.columns);
      multiply_panel<To, Layout>(left + (i - first) * Layout::panel, right, a.columns, into, add);
    }
  }
}

// c = or += a b, for a depth and a number of columns whose packed B fits `right` and the caches.
template <typename Layout, typename T, typename To>
void multiply_packed_block(
    const MatrixView<const T>& a, const MatrixView<const T>& b, To* right, const MatrixView<To>& c, bool add) {
  const int64_t depth = b.rows;
  const Parts rows(c.rows, tile_rows);
  const bool share_rows = rows.count >= torch::stable::get_num_threads();
  const auto pack = [&](int64_t begin, int64_t end) {
    const int64_t column = begin * tile_columns<To>, last = std::min(b.columns, end * tile_columns<To>);
    pack_columns(part_of(b, 0, depth, column, last - column), right + column * depth);
    if (!share_rows) {
      multiply_panels<Layout>(
          a, right + column * depth, part_of(c, 0, c.rows, column, last - column), add, rows, 0, rows.count);
    }
  };
  const int64_t panels = (b.columns + tile_columns<To> - 1) / tile_columns<To>;
  torch::stable::parallel_for(0, panels, 1 + packed_grain / (depth * tile_columns<To>), pack);
  if (share_rows) {
    torch::stable::parallel_for(
        0, rows.count, 1 + packed_grain / (tile_rows * b.columns * depth), [&](int64_t begin, int64_t end) {
          multiply_panels<Layout>(a, right, c, add, rows, begin, end);
        });
  }
}

// c = a b, sums in c's type and over k in one order: how many threads there are changes none. Threads share out the
// columns of B while packing and the rows of A while multiplying, or the columns for both where there are few rows.
template <typename T, typename To>
void packed_matrices(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<To>& c) {
  const Parts depths(a.columns, max_depth<To>);
  const int64_t deepest = depths.at(1), all_columns = Parts(c.columns, tile_columns<To>).count * tile_columns<To>;
  const int64_t cached = l2_cache_bytes() / 2 / sizeof(To) / deepest / tile_columns<To> * tile_columns<To>;
  const int64_t width = std::clamp<int64_t>(cached, tile_columns<To>, all_columns);
  To* right = static_cast<To*>(pack_buffer(PackedSide::right, width * deepest * sizeof(To)));
  const bool transposed = a.row_stride == 1 && a.column_stride != 1;
  const auto multiply = transposed ? multiply_packed_block<RowsTogether<To>, T, To>
                                   : multiply_packed_block<RowsApart<To>, T, To>;
  for (int64_t column = 0; column < c.columns; column += width) {
    const int64_t columns = std::min(width, c.columns - column);
    for (int64_t d = 0; d < depths.count; ++d) {
      const int64_t k = depths.at(d), depth = depths.at(d + 1) - k;
      multiply(
          part_of(a, 0, a.rows, k, depth), part_of(b, k, depth, column, columns), right,
          part_of(c, 0, c.rows, column, columns), d > 0);
    }
  }
}

template <typename T, typename To>
void packed(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<To>& c) {
  const bool runs_in_a = a.row_stride == 1 || a.column_stride == 1;
  const bool runs_in_b = b.row_stride == 1 || b.column_stride == 1;
  if (c.columns == 1 && runs_in_a) {
    times_vector(a, b.data, b.row_stride, c.data, c.row_stride);
  } else if (c.rows == 1 && runs_in_b) {
    const MatrixView<const T> turned{b.data, b.columns, b.rows, b.column_stride, b.row_stride};
    times_vector(turned, a.data, a.column_stride, c.data, c.column_stride);
  } else {
    packed_matrices(a, b, c);
  }
}
