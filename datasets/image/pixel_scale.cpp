#include "datasets/image/pixel_scale.h"

#include <cstring>

namespace ddp::datasets {
namespace {

// The factor of ToDtype(float32, scale=True), as float32.
constexpr float kPixelUnit = static_cast<float>(1.0 / 255);

template <int step>
[[gnu::always_inline]] inline void normalize(const std::uint8_t* from, std::int64_t count, float mean, float std,
                                             float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = (static_cast<float>(from[i * step]) * kPixelUnit - mean) / std;
}

template <int step>
void normalize_plain(const std::uint8_t* from, std::int64_t count, float mean, float std, float* to) {
  normalize<step>(from, count, mean, std, to);
}

#if defined(__x86_64__)
// Without "fma": contracted operations would change the bits.
template <int step>
[[gnu::target("avx2")]] void normalize_avx2(const std::uint8_t* from, std::int64_t count, float mean, float std,
                                            float* to) {
  normalize<step>(from, count, mean, std, to);
}
const bool normalizes_by_avx2 = __builtin_cpu_supports("avx2");
#else
template <int step>
constexpr auto normalize_avx2 = normalize_plain<step>;
constexpr bool normalizes_by_avx2 = false;
#endif

template <int step>
void normalize_row(const std::uint8_t* from, std::int64_t count, float mean, float std, float* to) {
  (normalizes_by_avx2 ? normalize_avx2<step> : normalize_plain<step>)(from, count, mean, std, to);
}

}  // namespace

PixelScale::PixelScale(const PixelTable& table, std::int64_t channels, const std::optional<Normalization>& formula)
    : table_(table) {
  if (!formula) return;
  std::array<std::uint8_t, 256> pixels;
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    std::array<float, 256> numbers;
    normalize_row<1>(pixels.data(), std::ssize(pixels), formula->mean[c], formula->std[c], numbers.data());
    if (std::memcmp(numbers.data(), table[c].data(), sizeof numbers) != 0) return;
  }
  formula_ = formula;
}

void PixelScale::write(std::int64_t channel, const std::uint8_t* from, std::int64_t step, std::int64_t count,
                       float* to) const {
  const auto c = static_cast<std::size_t>(channel);
  if (formula_ && step == 1) return normalize_row<1>(from, count, formula_->mean[c], formula_->std[c], to);
  if (formula_ && step == -1) return normalize_row<-1>(from, count, formula_->mean[c], formula_->std[c], to);
  const std::array<float, 256>& numbers = table_[c];
  for (std::int64_t i = 0; i < count; ++i, from += step) to[i] = numbers[*from];
}

}  // namespace ddp::datasets
