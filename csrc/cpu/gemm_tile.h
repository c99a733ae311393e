// The micro-kernel: a register tile, C[rows x vectors] += A[rows x depth] B[depth x vectors], sums in registers.
// Compiled once per instruction set by each_instruction_set.h; hence no include guard.

template <typename T>
struct Lanes;
template <>
struct Lanes<float> {
  typedef float vector __attribute__((vector_size(ATLAS_VECTOR_BYTES)));
};
template <>
struct Lanes<double> {
  typedef double vector __attribute__((vector_size(ATLAS_VECTOR_BYTES)));
};
template <typename T>
using vector_t = typename Lanes<T>::vector;
template <typename T>
constexpr int lanes = ATLAS_VECTOR_BYTES / sizeof(T);

// As many sums as leave registers for two vectors of B and two broadcast values of A: 28 of 32, 12 of 16, 8 of 16
// where a product needs a register of its own.
constexpr int tile_vectors = 2;
constexpr int tile_rows = ATLAS_VECTOR_BYTES == 64 ? 14 : ATLAS_VECTOR_BYTES == 32 ? 6 : 4;
template <typename T>
constexpr int tile_columns = tile_vectors * lanes<T>;

// Bytes of one row of a packed panel of A. Such a panel and the columns of B it meets stay in the L1 and L2 caches.
constexpr int64_t depth_bytes = 2048;
template <typename T>
constexpr int64_t max_depth = depth_bytes / sizeof(T);
// An odd number of cache lines between rows, so that a tile's rows fall into different sets of the L1 cache.
template <typename T>
constexpr int64_t row_pitch = (depth_bytes + 64) / sizeof(T);

// How a panel of A lies: element (row, k) at row * row_step + k * depth_step; both known to the compiler. Panels are
// packed `at_once`: one, into L1, where memory is read along rows; more where it is read across them, in longer runs.
template <typename T>
struct RowsApart {  // each row is one run, as in a row-major A
  static constexpr int64_t row_step = row_pitch<T>, depth_step = 1, at_once = 1;
  static constexpr int64_t panel = tile_rows * row_pitch<T>;  // elements
};
template <typename T>
struct RowsTogether {  // the rows' values of one k are one run, as in a transposed A
  static constexpr int64_t row_step = 1, depth_step = tile_rows, at_once = 16;
  static constexpr int64_t copied = (tile_rows + lanes<T> - 1) / lanes<T> * lanes<T>;  // whole vectors, past the tile
  static constexpr int64_t panel = tile_rows * max_depth<T> + copied;
};

template <typename T>
inline vector_t<T> load(const T* from) {
  vector_t<T> value;
  memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
inline void store(T* to, const vector_t<T>& value) {
  memcpy(to, &value, sizeof(value));
}

// c[row * c_row + column], column < vectors * lanes; `add` to what is there or overwrite it. B's rows are b_step apart.
template <typename T, typename Layout, int rows, int vectors>
void multiply_tile(const T* a, const T* b, int64_t b_step, int64_t depth, T* c, int64_t c_row, bool add) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) {
      __builtin_prefetch(c + i * c_row + j * lanes<T>, 1);  // there by the time the sums are
    }
  }
  vector_t<T> sum[rows][vectors] = {};
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    vector_t<T> right[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      right[j] = load(b + k * b_step + j * lanes<T>);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const T left = a[i * Layout::row_step + k * Layout::depth_step];
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        sum[i][j] += left * right[j];
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      T* to = c + i * c_row + j * lanes<T>;
      store(to, add ? load(to) + sum[i][j] : sum[i][j]);
    }
  }
}
