#include "datasets/image/taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace ddp::datasets
