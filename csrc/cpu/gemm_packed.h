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

// Cuts `total` into as few parts of at most `most` as possible, all of nearly one size; part i is [at(i), at(i + 1)).
struct Parts {
  int64_t total, count;
  Parts(int64_t whole, int64_t most) : total(whole), count((whole + most - 1) / most) {}
  int64_t at(int64_t i) const {
    return total / count * i + std::min(i, total % count);
  }
};

template <typename Layout, typename T, typename To>
void multiply_rows(const MatrixView<const T>& a, const To* right, const MatrixView<To>& c, bool add) {
  To* left = static_cast<To*>(pack_buffer(PackedSide::left, tile_rows * row_pitch<To> * sizeof(To)));
  pack_rows<Layout>(a, left);
  multiply_panel<To, Layout>(left, right, a.columns, c, add);
}

template <typename T>
MatrixView<T> part_of(const MatrixView<T>& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return {x.data + row * x.row_stride + column * x.column_stride, rows, columns, x.row_stride, x.column_stride};
}

// Multiply-adds a thread takes at least.
constexpr int64_t packed_grain = int64_t{1} << 18;

// c = a b, sums in c's type. Threads share out columns of B while packing and rows of A while multiplying: how many
// there are changes no sum.
template <typename T, typename To>
void packed(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<To>& c) {
  const Parts depths(a.columns, max_depth<To>);
  const int64_t deepest = depths.at(1);
  const int64_t fitting = l2_cache_bytes() / 2 / sizeof(To) / deepest / tile_columns<To> * tile_columns<To>;
  const Parts row_panels(c.rows, tile_rows);
  const int64_t width = std::max<int64_t>(fitting, tile_columns<To>);
  const int64_t widest = std::min((c.columns + tile_columns<To> - 1) / tile_columns<To> * tile_columns<To>, width);
  To* right = static_cast<To*>(pack_buffer(PackedSide::right, widest * deepest * sizeof(To)));
  for (int64_t column = 0; column < c.columns; column += width) {
    const int64_t columns = std::min(width, c.columns - column);
    for (int64_t d = 0; d < depths.count; ++d) {
      const int64_t k = depths.at(d), depth = depths.at(d + 1) - k;
      const int64_t panels = (columns + tile_columns<To> - 1) / tile_columns<To>;
      torch::stable::parallel_for(
          0, panels, 1 + packed_grain / (depth * tile_columns<To>), [&](int64_t begin, int64_t end) {
            for (int64_t j = begin * tile_columns<To>; j < std::min(columns, end * tile_columns<To>);
                 j += tile_columns<To>) {
              const int64_t taken = std::min<int64_t>(tile_columns<To>, columns - j);
              pack_columns(part_of(b, k, depth, column + j, taken), right + j * depth);
            }
          });
      torch::stable::parallel_for(
          0, row_panels.count, 1 + packed_grain / (tile_rows * columns * depth), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t row = row_panels.at(i), rows = row_panels.at(i + 1) - row;
              const auto left = part_of(a, row, rows, k, depth);
              const auto into = part_of(c, row, rows, column, columns);
              if (a.row_stride == 1 && a.column_stride != 1) {
                multiply_rows<RowsTogether<To>>(left, right, into, d > 0);
              } else {
                multiply_rows<RowsApart<To>>(left, right, into, d > 0);
              }
            }
          });
    }
  }
}
