#include "datasets/image/resampling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ddp::datasets {
namespace {

constexpr int kMostPrecision = 22;  // so a sum of 8-bit pixels fits into 32 bits

// The triangle filter: the weight of a pixel by its distance from the middle of a place.
double triangle(double distance) { return std::max(1.0 - std::abs(distance), 0.0); }

// The weights of all places, as doubles. All places, not only the wanted ones, because the greatest weight decides the
// precision.
class Weights {
 public:
  Weights(std::int64_t from, std::int64_t to)
      : from_(from),
        scale_(static_cast<double>(from) / static_cast<double>(to)),
        support_(std::max(scale_, 1.0)),
        most_(2 * static_cast<std::int64_t>(std::ceil(support_)) + 1),
        values_(static_cast<std::size_t>(to * most_)) {
    for (std::int64_t place = 0; place < to; ++place) weigh(place);
  }

  std::int64_t first(std::int64_t place) const {
    return std::max<std::int64_t>(static_cast<std::int64_t>(center(place) - support_ + 0.5), 0);
  }
  std::int64_t count(std::int64_t place) const {
    const std::int64_t end = std::min(static_cast<std::int64_t>(center(place) + support_ + 0.5), from_);
    return std::clamp<std::int64_t>(end - first(place), 0, most_);
  }
  const double* of(std::int64_t place) const { return values_.data() + place * most_; }

  int precision() const {
    int bits = 0;
    while (bits < kMostPrecision &&
           static_cast<int>(0.5 + greatest_ * (1 << (bits + 1))) <= std::numeric_limits<std::int16_t>::max()) {
      ++bits;
    }
    return bits;
  }

 private:
  double center(std::int64_t place) const { return scale_ * (static_cast<double>(place) + 0.5); }

  void weigh(std::int64_t place) {
    double* const weights = values_.data() + place * most_;
    const double middle = center(place);
    const double step = scale_ >= 1 ? 1 / scale_ : 1;
    const std::int64_t begin = first(place), pixels = count(place);
    double sum = 0;
    for (std::int64_t i = 0; i < pixels; ++i) {
      weights[i] = triangle((static_cast<double>(i + begin) - middle + 0.5) * step);
      sum += weights[i];
    }
    if (sum == 0) return;
    for (std::int64_t i = 0; i < pixels; ++i) {
      weights[i] /= sum;
      greatest_ = std::max(greatest_, weights[i]);
    }
  }

  const std::int64_t from_;
  const double scale_;
  const double support_;
  const std::int64_t most_;
  std::vector<double> values_;
  double greatest_ = 0;
};

// The two passes of a resampling, row by row, with AVX2 if the CPU has it. A sum is rounded to the nearest pixel value,
// halves up.

// Rows of planes are written in steps of this many pixels: the memory of a row must be a multiple of it.
constexpr std::int64_t kRowStep = 32;
inline std::int64_t whole_steps(std::int64_t pixels) { return (pixels + kRowStep - 1) / kRowStep * kRowStep; }

// The number of readable bytes that must follow the last pixel of an RGB row that a place uses.
inline std::int64_t bytes_behind_row(const Taps& taps) { return 3 * taps.width + 4; }

std::uint8_t pixel_of(std::int32_t sum, int precision) {
  return static_cast<std::uint8_t>(std::min(sum >> precision, 255));
}

// Resamples one row of one channel. Its pixels are `step` bytes apart.
void resample_column(const std::uint8_t* row, std::int64_t step, const Taps& taps, std::uint8_t* to) {
  for (std::int64_t x = 0; x < taps.places(); ++x) {
    const auto place = static_cast<std::size_t>(x);
    const std::uint8_t* from = row + (taps.firsts[place] - taps.begin) * step;
    const std::int16_t* const weights = taps.weights_of(x);
    std::int32_t sum = 1 << (taps.precision - 1);
    for (std::int32_t i = 0; i < taps.counts[place]; ++i, from += step) sum += weights[i] * *from;
    to[x] = pixel_of(sum, taps.precision);
  }
}

void columns_plain(const std::uint8_t* const rows[2], const Taps& taps, std::uint8_t* const to[2], std::int64_t plane) {
  for (int row = 0; row < 2; ++row) {
    for (int c = 0; c < 3; ++c) resample_column(rows[row] + c, 3, taps, to[row] + c * plane);
  }
}

void rows_plain(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, std::int32_t count,
                int precision, std::int64_t width, std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x) {
    std::int32_t sum = 1 << (precision - 1);
    for (std::int32_t i = 0; i < count; ++i) sum += weights[i] * rows[i * stride + x];
    to[x] = pixel_of(sum, precision);
  }
}

#if defined(__x86_64__)
// Repeats two adjacent weights, for pairs of 16-bit numbers.
[[gnu::target("avx2")]] inline __m256i weight_pair(const std::int16_t* weights) {
  std::int32_t both;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi32(both);
}

// Returns the shuffle mask that spreads pixels 0 and 1 (or 2 and 3) of RGB to pairs of 16-bit numbers, one pair per
// channel.
[[gnu::target("avx2")]] inline __m256i spread_of(int pixel) {
  const auto first = static_cast<char>(3 * pixel);
  constexpr char kZero = -128;  // stays negative when `first` is added
  const __m128i half =
      _mm_setr_epi8(0, kZero, 3, kZero, 1, kZero, 4, kZero, 2, kZero, 5, kZero, kZero, kZero, kZero, kZero);
  return _mm256_broadcastsi128_si256(_mm_add_epi8(half, _mm_set1_epi8(first)));
}

// Loads bytes of both rows, a row into each half.
template <std::int64_t width>
[[gnu::target("avx2")]] inline __m256i both_rows(const std::uint8_t* first, const std::uint8_t* second) {
  if constexpr (width == 2) {
    return _mm256_set_m128i(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(second)),
                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(first)));
  } else {
    return _mm256_loadu2_m128i(reinterpret_cast<const __m128i*>(second), reinterpret_cast<const __m128i*>(first));
  }
}

// Computes one place of both rows: red, green, blue and an unused number, 32 bits each. `width` is the width of the
// taps; 0: any multiple of 4.
template <std::int64_t width>
[[gnu::target("avx2")]] inline __m256i place_of(const std::uint8_t* const rows[2], const Taps& taps, std::int64_t place,
                                                __m256i half, __m128i precision) {
  const __m256i low = spread_of(0), high = spread_of(2);
  const std::int64_t first = 3 * (taps.firsts[static_cast<std::size_t>(place)] - taps.begin);
  const std::int16_t* const weights = taps.weights_of(place);
  __m256i sum = half;
  for (std::int64_t i = 0; i < (width > 0 ? width : taps.width); i += 4) {
    const __m256i pixels = both_rows<width>(rows[0] + first + 3 * i, rows[1] + first + 3 * i);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, low), weight_pair(weights + i)));
    if constexpr (width == 2) break;
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, high), weight_pair(weights + i + 2)));
  }
  return _mm256_sra_epi32(sum, precision);
}

// Writes four pixels of a row, RGB and an unused byte each, to the row's planes.
[[gnu::target("avx2")]] inline void store_planes(__m128i pixels, std::uint8_t* to, std::int64_t plane) {
  const __m128i planes = _mm_shuffle_epi8(pixels, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const std::int32_t red = _mm_cvtsi128_si32(planes), green = _mm_extract_epi32(planes, 1),
                     blue = _mm_extract_epi32(planes, 2);
  std::memcpy(to, &red, sizeof red);
  std::memcpy(to + plane, &green, sizeof green);
  std::memcpy(to + 2 * plane, &blue, sizeof blue);
}

template <std::int64_t width>
[[gnu::target("avx2")]] void columns_avx2(const std::uint8_t* const rows[2], const Taps& taps,
                                          std::uint8_t* const to[2], std::int64_t plane) {
  const __m256i half = _mm256_set1_epi32(1 << (taps.precision - 1));
  const __m128i precision = _mm_cvtsi32_si128(taps.precision);
  const std::int64_t last = taps.places() - 1;
  for (std::int64_t x = 0; x <= last; x += 4) {
    __m256i places[4];
    for (std::int64_t i = 0; i < 4; ++i) {
      places[i] = place_of<width>(rows, taps, std::min(x + i, last), half, precision);
    }
    const __m256i pixels =
        _mm256_packus_epi16(_mm256_packs_epi32(places[0], places[1]), _mm256_packs_epi32(places[2], places[3]));
    store_planes(_mm256_castsi256_si128(pixels), to[0] + x, plane);
    store_planes(_mm256_extracti128_si256(pixels, 1), to[1] + x, plane);
  }
}

// Adds the products of 32 pixels of two rows, 8 in each sum.
[[gnu::target("avx2")]] inline void add_products(__m256i first, __m256i second, __m256i weights, __m256i sums[4]) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_unpacklo_epi8(first, second), high = _mm256_unpackhi_epi8(first, second);
  sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weights));
  sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weights));
  sums[2] = _mm256_add_epi32(sums[2], _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weights));
  sums[3] = _mm256_add_epi32(sums[3], _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weights));
}

[[gnu::target("avx2")]] inline __m256i load_step(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

[[gnu::target("avx2")]] void rows_avx2(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights,
                                       std::int32_t count, int precision, std::int64_t width, std::uint8_t* to) {
  const __m256i half = _mm256_set1_epi32(1 << (precision - 1));
  const __m128i shift = _mm_cvtsi32_si128(precision);
  for (std::int64_t x = 0; x < width; x += kRowStep) {
    const std::uint8_t* from = rows + x;
    __m256i sums[4] = {half, half, half, half};
    std::int32_t i = 0;
    for (; i + 1 < count; i += 2, from += 2 * stride) {
      add_products(load_step(from), load_step(from + stride), weight_pair(weights + i), sums);
    }
    if (i < count) add_products(load_step(from), _mm256_setzero_si256(), _mm256_set1_epi32(weights[i]), sums);
    for (__m256i& sum : sums) sum = _mm256_sra_epi32(sum, shift);
    const __m256i pixels =
        _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + x), pixels);
  }
}

const bool resamples_by_avx2 = __builtin_cpu_supports("avx2");
#endif

// Two interleaved rows of RGB become rows of planes: pixel x of channel c of row r goes to to[r][c * plane + x]. The
// rows, which may be the same, begin at the pixel `taps.begin`.
void resample_columns(const std::uint8_t* const rows[2], const Taps& taps, std::uint8_t* const to[2],
                      std::int64_t plane) {
#if defined(__x86_64__)
  if (resamples_by_avx2) {
    const auto columns = taps.width == 2 ? columns_avx2<2> : taps.width == 4 ? columns_avx2<4> : columns_avx2<0>;
    return columns(rows, taps, to, plane);
  }
#endif
  columns_plain(rows, taps, to, plane);
}

// Writes the weighted sum of `count` rows, which are `stride` bytes apart: whole_steps(width) pixels.
void resample_rows(const std::uint8_t* rows, std::int64_t stride, const std::int16_t* weights, std::int32_t count,
                   int precision, std::int64_t width, std::uint8_t* to) {
#if defined(__x86_64__)
  if (resamples_by_avx2) return rows_avx2(rows, stride, weights, count, precision, whole_steps(width), to);
#endif
  rows_plain(rows, stride, weights, count, precision, width, to);
}

// The rows of a view as interleaved RGB, with `bytes_behind` readable bytes after their end. Copies rows that lack
// them.
class RgbRows {
 public:
  RgbRows(const PixelView& view, std::int64_t bytes_behind)
      : view_(view), bytes_behind_(bytes_behind), copies_(static_cast<std::size_t>(2 * size())) {}

  // `place` is 0 or 1: two rows may be in use at once.
  const std::uint8_t* of(std::int64_t row, std::int64_t place) {
    const std::uint8_t* const from = view_.data + row * view_.row_stride;
    if (view_.is_interleaved() && (view_.height - 1 - row) * view_.row_stride >= bytes_behind_) return from;
    std::uint8_t* const copy = copies_.data() + place * size();
    for (std::int64_t x = 0; x < view_.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) copy[3 * x + c] = from[x * view_.column_stride + c * view_.channel_stride];
    }
    return copy;
  }

 private:
  std::int64_t size() const { return 3 * view_.width + bytes_behind_; }

  const PixelView& view_;
  const std::int64_t bytes_behind_;
  std::vector<std::uint8_t> copies_;
};

}  // namespace

Taps bilinear_taps(std::int64_t from, std::int64_t to, const Places& places) {
  const Weights all(from, to);
  Taps taps;
  std::int32_t most = 0;
  for (std::int64_t i = 0; i < places.count; ++i) {
    const std::int64_t place = places.begin + (places.flipped ? places.count - 1 - i : i);
    const auto first = static_cast<std::int32_t>(all.first(place)), count = static_cast<std::int32_t>(all.count(place));
    taps.firsts.push_back(first);
    taps.counts.push_back(count);
    taps.begin = i == 0 ? first : std::min(taps.begin, first);
    taps.end = std::max(taps.end, first + count);
    most = std::max(most, count);
  }
  taps.width = most <= 2 ? 2 : (most + 3) / 4 * 4;
  taps.precision = all.precision();
  taps.weights.resize(static_cast<std::size_t>(places.count * taps.width));
  const double unit = 1 << taps.precision;
  for (std::int64_t i = 0; i < places.count; ++i) {
    const double* const weights = all.of(places.begin + (places.flipped ? places.count - 1 - i : i));
    for (std::int32_t k = 0; k < taps.counts[static_cast<std::size_t>(i)]; ++k) {
      taps.weights[static_cast<std::size_t>(i * taps.width + k)] = static_cast<std::int16_t>(0.5 + weights[k] * unit);
    }
  }
  return taps;
}

Resampling::Resampling(const format::ImageSize& from, const format::ImageSize& to, const Places& rows,
                       const Places& columns)
    : rows_(bilinear_taps(from.height, to.height, rows)),
      columns_(bilinear_taps(from.width, to.width, columns)),
      stride_(whole_steps(columns.count)),
      row_(static_cast<std::size_t>(stride_)) {}

format::Rectangle Resampling::needed() const {
  return {.top = rows_.begin,
          .left = columns_.begin,
          .height = rows_.end - rows_.begin,
          .width = columns_.end - columns_.begin};
}

std::uint8_t* Resampling::kept_row(std::int64_t channel, std::int64_t row) {
  return kept_.get() + (channel * needed().height + row) * stride_;
}

void Resampling::take(const PixelView& rows) {
  if (!kept_) {
    const std::int64_t size = rows.channels * needed().height * stride_;
    kept_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(size));
  }
  if (rows.channels == 3) {
    take_rgb(rows);
  } else {
    for (std::int64_t row = 0; row < rows.height; ++row) {
      resample_column(rows.data + row * rows.row_stride, rows.column_stride, columns_, kept_row(0, taken_ + row));
    }
  }
  taken_ += rows.height;
}

void Resampling::take_rgb(const PixelView& rows) {
  RgbRows from(rows, bytes_behind_row(columns_));
  for (std::int64_t row = 0; row < rows.height; row += 2) {
    const std::int64_t second = std::min(row + 1, rows.height - 1);
    const std::uint8_t* const pair[2] = {from.of(row, 0), from.of(second, 1)};
    std::uint8_t* const to[2] = {kept_row(0, taken_ + row), kept_row(0, taken_ + second)};
    resample_columns(pair, columns_, to, needed().height * stride_);
  }
}

const std::uint8_t* Resampling::row(std::int64_t channel, std::int64_t row) {
  const auto place = static_cast<std::size_t>(row);
  const std::uint8_t* const first = kept_row(channel, rows_.firsts[place] - rows_.begin);
  resample_rows(first, stride_, rows_.weights_of(row), rows_.counts[place], rows_.precision, columns_.places(),
                row_.data());
  return row_.data();
}

}  // namespace ddp::datasets
