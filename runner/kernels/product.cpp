#include "kernels/product.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

// The loops of this file are for these vector instructions alone; sgemm does the products of other machines.
#define DDP_AVX512 __attribute__((target("avx512f,avx512vl,fma"), always_inline)) inline
#define DDP_AVX512_FUNCTION __attribute__((target("avx512f,avx512vl,fma"), noinline))
#define DDP_UNROLLED _Pragma("GCC unroll 16")

// Of BLAS, in LibTorch: matrices are column after column.
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* stride_a, const float* b, const int* stride_b,
                       const float* beta, float* c, const int* stride_c);

namespace ddp::kernels {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t kWidth = 16;           // floats of a vector
constexpr ptrdiff_t kPanel = 4 * kWidth;   // columns of a result that are computed together
constexpr ptrdiff_t kMostTerms = 192;      // that MKL sums at once
constexpr ptrdiff_t kRows = 192;           // of a result that are computed before the next panel
constexpr ptrdiff_t kStrip = 3 * kWidth;   // rows of a transposed result that are stored together
constexpr ptrdiff_t kMostSmallTerms = 64;  // of a product in MKL's order for small matrices: sgemm adds more as fast
constexpr unsigned kFlushBits = 0x8040;    // of MXCSR: denormal numbers are taken as 0
constexpr __mmask16 kAll = 0xffff;

// Some rows of a result, over the columns of one panel: out[r][c] = sum of a[r][term] * b[term][c].
struct Tile {
  const float* a;
  ptrdiff_t a_row, a_term;  // strides
  const float* b;
  ptrdiff_t b_term;
  ptrdiff_t terms;
  float start;  // of each sum
  float* out;
  ptrdiff_t out_row;
  __mmask16 last;          // the columns of the last vector
  bool adds;               // to what is in `out`
  const float* bias;       // what a sum is added to; nullptr: nothing
  bool bias_of_rows;       // a number a row, or one a column
  Product::Ending ending;  // of the last block; its gate has rows as in `out`
};

__mmask16 first_lanes(ptrdiff_t count) {
  return static_cast<__mmask16>((1U << std::clamp<ptrdiff_t>(count, 0, 16)) - 1);
}

struct Whole {
  using Vector = __m512;
  DDP_AVX512 static Vector all(float x) { return _mm512_set1_ps(x); }
  DDP_AVX512 static Vector part(Whole::Vector x) { return x; }
  DDP_AVX512 static Vector load(const float* from, __mmask16 lanes) { return _mm512_maskz_loadu_ps(lanes, from); }
  DDP_AVX512 static void store(float* to, __mmask16 lanes, Vector x) { _mm512_mask_storeu_ps(to, lanes, x); }
  DDP_AVX512 static Vector multiply_add(Vector x, Vector y, Vector sum) { return _mm512_fmadd_ps(x, y, sum); }
  DDP_AVX512 static Vector relu(Vector x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, Vector{}, _CMP_NLT_UQ), x);
  }
  DDP_AVX512 static Vector gated(Vector x, Vector gate, Vector threshold) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, threshold, _CMP_NLE_UQ), x);
  }
};

// Half of a vector: the last one, if that is enough.
struct Half {
  using Vector = __m256;
  DDP_AVX512 static Vector all(float x) { return _mm256_set1_ps(x); }
  DDP_AVX512 static Vector part(Whole::Vector x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7); }
  DDP_AVX512 static Vector load(const float* from, __mmask16 lanes) {
    return _mm256_maskz_loadu_ps(static_cast<__mmask8>(lanes), from);
  }
  DDP_AVX512 static void store(float* to, __mmask16 lanes, Vector x) {
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>(lanes), x);
  }
  DDP_AVX512 static Vector multiply_add(Vector x, Vector y, Vector sum) { return _mm256_fmadd_ps(x, y, sum); }
  DDP_AVX512 static Vector relu(Vector x) {
    return _mm256_maskz_mov_ps(_mm256_cmp_ps_mask(x, Vector{}, _CMP_NLT_UQ), x);
  }
  DDP_AVX512 static Vector gated(Vector x, Vector gate, Vector threshold) {
    return _mm256_maskz_mov_ps(_mm256_cmp_ps_mask(gate, threshold, _CMP_NLE_UQ), x);
  }
};

// Ends the sums of one vector, and stores them.
template <class Lanes>
DDP_AVX512 void finish(const Tile& t, ptrdiff_t row, ptrdiff_t column, __mmask16 lanes, typename Lanes::Vector sum) {
  float* const out = t.out + row * t.out_row + column;
  if (t.adds) {
    sum = Lanes::load(out, lanes) + sum;
  } else if (t.bias != nullptr) {
    sum = (t.bias_of_rows ? Lanes::all(t.bias[row]) : Lanes::load(t.bias + column, lanes)) + sum;
  }
  const Product::Ending& end = t.ending;
  if (end.relu) sum = Lanes::relu(sum);
  if (end.gate != nullptr) {
    sum = Lanes::gated(sum, Lanes::load(end.gate + row * t.out_row + column, lanes), Lanes::all(end.threshold));
  }
  if (end.scales) sum = sum * Lanes::all(end.factor);
  Lanes::store(out, lanes, sum);
}

// kRows rows of kVectors vectors, of which the last one has `Last` lanes.
template <int kRows, int kVectors, class Last>
DDP_AVX512_FUNCTION void multiply_rows(const Tile& t) {
  constexpr int kWhole = kVectors - 1;
  Whole::Vector sums[kRows][kWhole + 1];  // the last one is not used
  typename Last::Vector last_sums[kRows];
  DDP_UNROLLED for (int r = 0; r < kRows; ++r) {
    DDP_UNROLLED for (int v = 0; v < kWhole; ++v) sums[r][v] = Whole::all(t.start);
    last_sums[r] = Last::all(t.start);
  }
  const float* a = t.a;
  const float* b = t.b;
  for (ptrdiff_t term = 0; term < t.terms; ++term, a += t.a_term, b += t.b_term) {
    Whole::Vector from_b[kWhole + 1];
    DDP_UNROLLED for (int v = 0; v < kWhole; ++v) from_b[v] = Whole::load(b + v * kWidth, kAll);
    const typename Last::Vector last_from_b = Last::load(b + kWhole * kWidth, t.last);
    DDP_UNROLLED for (int r = 0; r < kRows; ++r) {
      const Whole::Vector factor = Whole::all(a[r * t.a_row]);
      DDP_UNROLLED for (int v = 0; v < kWhole; ++v) { sums[r][v] = Whole::multiply_add(factor, from_b[v], sums[r][v]); }
      last_sums[r] = Last::multiply_add(Last::part(factor), last_from_b, last_sums[r]);
    }
  }
  DDP_UNROLLED for (int r = 0; r < kRows; ++r) {
    DDP_UNROLLED for (int v = 0; v < kWhole; ++v) finish<Whole>(t, r, v * kWidth, kAll, sums[r][v]);
    finish<Last>(t, r, kWhole * kWidth, t.last, last_sums[r]);
  }
}

using Loop = void (*)(const Tile&);

// All sums are in registers, of which there are 32.
constexpr int most_rows(int vectors) { return vectors <= 2 ? 12 : vectors == 3 ? 8 : 6; }

// Loops of one width, for so many rows.
template <int kVectors, class Last>
constexpr std::pair<ptrdiff_t, Loop> kLoops[] = {
    {most_rows(kVectors), multiply_rows<most_rows(kVectors), kVectors, Last>},
    {4, multiply_rows<4, kVectors, Last>},
    {2, multiply_rows<2, kVectors, Last>},
    {1, multiply_rows<1, kVectors, Last>}};
using Loops = const std::pair<ptrdiff_t, Loop>*;

Loops loops_for(ptrdiff_t columns) {
  const bool half = (columns - 1) % kWidth < kWidth / 2;
  switch ((columns + kWidth - 1) / kWidth) {
    case 1:
      return half ? kLoops<1, Half> : kLoops<1, Whole>;
    case 2:
      return half ? kLoops<2, Half> : kLoops<2, Whole>;
    case 3:
      return half ? kLoops<3, Half> : kLoops<3, Whole>;
    default:
      return half ? kLoops<4, Half> : kLoops<4, Whole>;
  }
}

// The rows of a panel. `tile` is of the first row.
void multiply_panel(Tile tile, ptrdiff_t rows, ptrdiff_t columns) {
  tile.last = first_lanes((columns - 1) % kWidth + 1);
  Loops loops = loops_for(columns);
  for (ptrdiff_t row = 0; row < rows;) {
    while (loops->first > rows - row) ++loops;
    loops->second(tile);
    row += loops->first;
    tile.a += loops->first * tile.a_row;
    tile.out += loops->first * tile.out_row;
    if (tile.bias_of_rows && tile.bias != nullptr) tile.bias += loops->first;
    if (tile.ending.gate != nullptr) tile.ending.gate += loops->first * tile.out_row;
  }
}

// to[k][i] = from[i][k], for at most 16 rows i of `from`. If `to` has more columns, up to 16, they become 0.
DDP_AVX512_FUNCTION void transpose(const float* from, ptrdiff_t from_row, ptrdiff_t rows, ptrdiff_t columns, float* to,
                                   ptrdiff_t to_row, ptrdiff_t to_columns) {
  const __mmask16 lanes = first_lanes(to_columns);
  for (ptrdiff_t first = 0; first < columns; first += kWidth) {
    const ptrdiff_t width = std::min(kWidth, columns - first);
    const __mmask16 there = first_lanes(width);
    __m512 x[16], y[16];
    DDP_UNROLLED for (int i = 0; i < 16; ++i) {
      x[i] = i < rows ? _mm512_maskz_loadu_ps(there, from + i * from_row + first) : _mm512_setzero_ps();
    }
    // Pairs of rows, then fours, then blocks of four by four.
    DDP_UNROLLED for (int i = 0; i < 16; i += 2) {
      y[i] = _mm512_maskz_unpacklo_ps(kAll, x[i], x[i + 1]);
      y[i + 1] = _mm512_maskz_unpackhi_ps(kAll, x[i], x[i + 1]);
    }
    DDP_UNROLLED for (int i = 0; i < 16; i += 4) {
      DDP_UNROLLED for (int j = 0; j < 2; ++j) {
        const __m512d low = _mm512_castps_pd(y[i + j]), high = _mm512_castps_pd(y[i + 2 + j]);
        x[i + 2 * j] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, low, high));
        x[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, low, high));
      }
    }
    DDP_UNROLLED for (int i = 0; i < 4; ++i) {
      const __m512 a = _mm512_maskz_shuffle_f32x4(kAll, x[i], x[4 + i], 0x88),
                   b = _mm512_maskz_shuffle_f32x4(kAll, x[8 + i], x[12 + i], 0x88);
      const __m512 c = _mm512_maskz_shuffle_f32x4(kAll, x[i], x[4 + i], 0xdd),
                   d = _mm512_maskz_shuffle_f32x4(kAll, x[8 + i], x[12 + i], 0xdd);
      y[i] = _mm512_maskz_shuffle_f32x4(kAll, a, b, 0x88);
      y[8 + i] = _mm512_maskz_shuffle_f32x4(kAll, a, b, 0xdd);
      y[4 + i] = _mm512_maskz_shuffle_f32x4(kAll, c, d, 0x88);
      y[12 + i] = _mm512_maskz_shuffle_f32x4(kAll, c, d, 0xdd);
    }
    DDP_UNROLLED for (int i = 0; i < 16; ++i) {
      if (i < width) _mm512_mask_storeu_ps(to + (first + i) * to_row, lanes, y[i]);
    }
  }
}

// How many floats lie before the next border of 16 bytes: at this address, or so many floats behind a border.
ptrdiff_t before_border(const float* from) {
  return static_cast<ptrdiff_t>((0 - reinterpret_cast<std::uintptr_t>(from)) % 16 / sizeof(float));
}
ptrdiff_t before_border(ptrdiff_t behind_border) { return (4 - behind_border % 4) % 4; }

// Sums of 16 columns for a row of `a`, as MKL's loops for small matrices compute them. They use vectors of four numbers
// from a border of 16 bytes on, and round each product before they add it.
struct SmallRow {
  const float* a;
  ptrdiff_t a_term;
  const float* b;
  ptrdiff_t b_term, terms;
  __mmask16 columns;

  DDP_AVX512 __m512 term(ptrdiff_t i) const { return Whole::all(a[i * a_term]) * Whole::load(b + i * b_term, columns); }

  // Where `a` and `b` lie term after term: as many sums as a vector has numbers, times kVectors. The terms before the
  // border begin the first one, and what is left is added to their sum.
  template <int kVectors>
  DDP_AVX512 __m512 dot() const {
    constexpr int kSums = 4 * kVectors;
    __m512 sums[kSums];
    DDP_UNROLLED for (__m512& sum : sums) sum = __m512{};
    const ptrdiff_t first = std::min(terms, before_border(a));
    ptrdiff_t i = 0;
    for (; i < first; ++i) sums[0] += term(i);
    for (; i + kSums <= terms; i += kSums) {
      DDP_UNROLLED for (int k = 0; k < kSums; ++k) sums[k] += term(i + k);
    }
    DDP_UNROLLED for (int k = 4; k < kSums; ++k) sums[k - 4] += sums[k];
    __m512 sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (; i < terms; ++i) sum += term(i);
    return sum;
  }

  // Whether dot<2>() adds as dot<1>() does.
  bool dots_are_alike() const {
    const ptrdiff_t fours = (terms - std::min(terms, before_border(a))) / 4;
    return fours == 0 || fours == 2;
  }

  // Where the columns of `b` and of the result lie side by side: term by term.
  DDP_AVX512 __m512 in_order(__m512 sum) const {
    for (ptrdiff_t i = 0; i < terms; ++i) sum += term(i);
    return sum;
  }

  // The same of the columns before the border: of eight terms the last four are added up before they are added.
  DDP_AVX512 __m512 by_eights(__m512 sum) const {
    ptrdiff_t i = 0;
    for (; i + 8 <= terms; i += 8) {
      DDP_UNROLLED for (int k = 0; k < 4; ++k) sum += term(i + k);
      __m512 four = term(i + 4);
      DDP_UNROLLED for (int k = 5; k < 8; ++k) four += term(i + k);
      sum += four;
    }
    for (; i < terms; ++i) sum += term(i);
    return sum;
  }
};

// Rows of at most 16 columns of a result. `whole`: so many columns are computed by fours if they are dots.
// `begins_rows`: rows of `out` begin here.
DDP_AVX512_FUNCTION void small_rows(Tile tile, ptrdiff_t rows, bool are_dots, ptrdiff_t whole, bool begins_rows) {
  const float* const bias = tile.bias;
  if (!are_dots) tile.bias = nullptr;  // the sums begin with it
  for (ptrdiff_t row = 0; row < rows; ++row) {
    const SmallRow one{tile.a + row * tile.a_row, tile.a_term, tile.b, tile.b_term, tile.terms, tile.last};
    __m512 sum;
    if (are_dots) {
      sum = one.dot<1>();
      if (whole < kWidth && !one.dots_are_alike()) sum = _mm512_mask_mov_ps(one.dot<2>(), first_lanes(whole), sum);
    } else {
      const __m512 start = bias == nullptr ? __m512{} : Whole::load(bias, tile.last);
      sum = one.in_order(start);
      // The result of at::mm begins at a border, also where these loops write it elsewhere.
      const ptrdiff_t before = begins_rows ? before_border(row * tile.out_row) : 0;
      if (before > 0) sum = _mm512_mask_mov_ps(sum, first_lanes(before), one.by_eights(start));
    }
    finish<Whole>(tile, row, 0, tile.last, sum);
  }
}

// The ending of the numbers from this place of `out` on.
Product::Ending from(Product::Ending ending, ptrdiff_t place) {
  if (ending.gate != nullptr) ending.gate += place;
  return ending;
}

// Memory at a cache line for an operand that is laid out anew, which the next product of the thread overwrites.
float* scratch(ptrdiff_t count) {
  constexpr std::size_t kLine = 64;
  thread_local std::vector<float> memory;
  const std::size_t least = static_cast<std::size_t>(count) + kLine / sizeof(float);
  if (memory.size() < least) memory.resize(least);
  void* at = memory.data();
  std::size_t room = memory.size() * sizeof(float);
  return static_cast<float*>(std::align(kLine, static_cast<std::size_t>(count) * sizeof(float), at, room));
}

bool has_avx512() { return __builtin_cpu_supports("avx512f") > 0 && __builtin_cpu_supports("avx512vl") > 0; }

}  // namespace

std::vector<Order> orders_for(const Layout& a, const Layout& b, int k) {
  const bool flushes_denormals = (_mm_getcsr() & kFlushBits) != 0;
  if (flushes_denormals || !has_avx512()) return {Order::of_blas};
  const bool may_be_small = k <= kMostSmallTerms && !(a.by_columns && b.by_columns);
  if (!may_be_small) return {Order::blocks, Order::of_blas};
  return {Order::blocks, Order::small, Order::of_blas};
}

// An operand whose columns lie together is laid out anew. In blocks that is the smaller one: if it is `a`, the loops
// compute the transposed result.
Product::Product(Layout a, Layout b, int m, int n, int k, bool has_bias, Order order)
    : a_(a),
      b_(b),
      m_(m),
      n_(n),
      k_(k),
      has_bias_(has_bias),
      order_(order),
      // MKL halves what is longer than a block, and not longer than two.
      block_(k_ <= kMostTerms       ? k_
             : k_ <= 2 * kMostTerms ? k_ / 2
                                    : kMostTerms),
      transposes_(order == Order::blocks && b.by_columns && !a.by_columns && n_ > 2 * m_) {}

void Product::operator()(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const {
  if (!has_bias_) bias = nullptr;
  if (order_ == Order::of_blas) {
    call_blas(a, b, bias, out);
  } else if (order_ == Order::small) {
    multiply_small(a, b, bias, ending, out);
  } else if (transposes_) {
    multiply_transposed(a, b, bias, ending, out);
  } else {
    multiply(a, b, bias, ending, out);
  }
}

void Product::call_blas(const float* a, const float* b, const float* bias, float* out) const {
  const float one = 1;
  const float beta = has_bias_ ? 1 : 0;
  for (ptrdiff_t row = 0; has_bias_ && row < m_; ++row) std::copy_n(bias, n_, out + row * n_);
  // The transposed product: out^T = b^T x a^T.
  const int m = static_cast<int>(m_), n = static_cast<int>(n_), k = static_cast<int>(k_);
  sgemm_(b_.by_columns ? "t" : "n", a_.by_columns ? "t" : "n", &n, &m, &k, &one, b, &b_.stride, a, &a_.stride, &beta,
         out, &n);
}

// Lays rows of k numbers side by side, in panels: panel by panel, term by term.
Product::Panels Product::packed(const float* from, ptrdiff_t from_row, ptrdiff_t rows) const {
  const ptrdiff_t width = (rows + kWidth - 1) / kWidth * kWidth;
  const Panels panels{.data = scratch((width + kPanel - 1) / kPanel * kPanel * k_),
                      .term = std::min(width, kPanel),
                      .panel = std::min(width, kPanel) * k_};
  for (ptrdiff_t i = 0; i < rows; i += kWidth) {
    transpose(from + i * from_row, from_row, std::min(kWidth, rows - i), k_, panels.column(i), panels.term, kWidth);
  }
  return panels;
}

// `b` as the loops read it.
Product::Panels Product::panels_of_b(const float* b) const {
  if (b_.by_columns) return packed(b, b_.stride, n_);
  return {.data = const_cast<float*>(b), .term = b_.stride, .panel = kPanel};
}

void Product::multiply(const float* a, const float* b, const float* bias, const Ending& ending, float* out) const {
  const Panels panels = panels_of_b(b);
  const ptrdiff_t a_row = a_.by_columns ? 1 : a_.stride, a_term = a_.by_columns ? a_.stride : 1;
  for (ptrdiff_t row = 0; row < m_; row += kRows) {
    for (ptrdiff_t column = 0; column < n_; column += kPanel) {
      for (ptrdiff_t term = 0; term < k_; term += block_) {
        const bool ends = term + block_ >= k_;
        multiply_panel({.a = a + row * a_row + term * a_term,
                        .a_row = a_row,
                        .a_term = a_term,
                        .b = panels.column(column) + term * panels.term,
                        .b_term = panels.term,
                        .terms = std::min(block_, k_ - term),
                        .start = start(),
                        .out = out + row * n_ + column,
                        .out_row = n_,
                        .last = 0,
                        .adds = term > 0,
                        .bias = bias == nullptr ? nullptr : bias + column,
                        .bias_of_rows = false,
                        .ending = ends ? from(ending, row * n_ + column) : Ending{}},
                       std::min(kRows, m_ - row), std::min(kPanel, n_ - column));
      }
    }
  }
}

void Product::multiply_small(const float* a, const float* b, const float* bias, const Ending& ending,
                             float* out) const {
  const Panels panels = panels_of_b(b);
  for (ptrdiff_t column = 0; column < n_; column += kWidth) {
    small_rows({.a = a,
                .a_row = a_.by_columns ? 1 : a_.stride,
                .a_term = a_.by_columns ? a_.stride : 1,
                .b = panels.column(column),
                .b_term = panels.term,
                .terms = k_,
                .start = 0,
                .out = out + column,
                .out_row = n_,
                .last = first_lanes(n_ - column),
                .adds = false,
                .bias = bias == nullptr ? nullptr : bias + column,
                .bias_of_rows = false,
                .ending = from(ending, column)},
               m_, b_.by_columns, n_ % 4 == 0 ? kWidth : n_ / 4 * 4 - column, column == 0);
  }
}

void Product::multiply_transposed(const float* a, const float* b, const float* bias, const Ending& ending,
                                  float* out) const {
  const Panels panels = packed(a, a_.stride, m_);
  alignas(64) float strip[kStrip * kPanel];
  // Rows of which the loops read all terms before the next ones. Rows that are a multiple of 4096 bytes apart push each
  // other out of the cache if they are many.
  const ptrdiff_t rows_at_once = b_.stride % 1024 == 0 ? 4 : 12;
  for (ptrdiff_t column = 0; column < m_; column += kPanel) {
    const ptrdiff_t columns = std::min(kPanel, m_ - column);
    for (ptrdiff_t row = 0; row < n_; row += kStrip) {
      const ptrdiff_t rows = std::min(kStrip, n_ - row);
      for (ptrdiff_t i = 0; i < rows; i += rows_at_once) {
        const ptrdiff_t count = std::min(rows_at_once, rows - i);
        for (ptrdiff_t term = 0; term < k_; term += block_) {
          const ptrdiff_t terms = std::min(block_, k_ - term);
          multiply_panel({.a = b + (row + i) * b_.stride + term,
                          .a_row = b_.stride,
                          .a_term = 1,
                          .b = panels.column(column) + term * panels.term,
                          .b_term = panels.term,
                          .terms = terms,
                          .start = start(),
                          .out = strip + i * kPanel,
                          .out_row = kPanel,
                          .last = 0,
                          .adds = term > 0,
                          .bias = bias == nullptr ? nullptr : bias + row + i,
                          .bias_of_rows = true,
                          .ending = term + block_ >= k_ ? ending : Ending{}},
                         count, columns);
        }
      }
      for (ptrdiff_t i = 0; i < rows; i += kWidth) {
        const ptrdiff_t count = std::min(kWidth, rows - i);
        transpose(strip + i * kPanel, kPanel, count, columns, out + column * n_ + row + i, n_, count);
      }
    }
  }
}

}  // namespace ddp::kernels
