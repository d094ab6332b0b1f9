// The automatic policies of operations: torchvision/transforms/v2/_auto_augment.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/ops/linspace.h>

#include "base/error.h"
#include "datasets/transform/arguments.h"
#include "datasets/transform/functional.h"
#include "datasets/transform/transform.h"
#include "datasets/transform/warp.h"

namespace ddp::datasets {
namespace {

// Changes an image, uint8 [c, h, w], by a magnitude.
using Change = at::Tensor (*)(const at::Tensor& pixels, double magnitude, const Sampling& sampling);

template <at::Tensor adjust(const at::Tensor&, double)>
at::Tensor adjusted(const at::Tensor& pixels, double magnitude, const Sampling&) {
  return adjust(pixels, 1 + magnitude);
}

template <std::size_t axis>
at::Tensor sheared(const at::Tensor& pixels, double slope, const Sampling& sampling) {
  Affine change;
  change.shear[axis] = std::atan(slope) * (180 / std::numbers::pi);
  return affine(pixels, change, std::array{0.0, 0.0}, sampling);
}

template <std::size_t axis>
at::Tensor shifted(const at::Tensor& pixels, double distance, const Sampling& sampling) {
  Affine change;
  change.translate[axis] = std::trunc(distance);
  return affine(pixels, change, {}, sampling);
}

at::Tensor turned(const at::Tensor& pixels, double angle, const Sampling& sampling) {
  return rotated(pixels, angle, /*expand=*/false, {}, sampling);
}

at::Tensor posterized(const at::Tensor& pixels, double bits, const Sampling&) {
  return posterize(pixels, static_cast<std::int64_t>(bits));
}

at::Tensor solarized(const at::Tensor& pixels, double threshold, const Sampling&) {
  return solarize(pixels, 255 * threshold);
}

struct Operation {
  const char* name;
  Change change;
  bool has_sign = false;
  double greatest = 0;  // magnitude; 0: none
  double wide = 0;      // the greatest magnitude of TrivialAugmentWide
};
constexpr double kShare = 150.0 / 331.0;  // greatest shift as a share of the image

// RandAugment and TrivialAugmentWide draw any but the last one.
constexpr std::array kOperations = {
    Operation{"Identity", [](const at::Tensor& pixels, double, const Sampling&) { return pixels; }},
    Operation{"ShearX", sheared<0>, true, 0.3, 0.99},
    Operation{"ShearY", sheared<1>, true, 0.3, 0.99},
    Operation{"TranslateX", shifted<0>, true, kShare, 32},
    Operation{"TranslateY", shifted<1>, true, kShare, 32},
    Operation{"Rotate", turned, true, 30, 135},
    Operation{"Brightness", adjusted<adjust_brightness>, true, 0.9, 0.99},
    Operation{"Color", adjusted<adjust_saturation>, true, 0.9, 0.99},
    Operation{"Contrast", adjusted<adjust_contrast>, true, 0.9, 0.99},
    Operation{"Sharpness", adjusted<adjust_sharpness>, true, 0.9, 0.99},
    Operation{"Posterize", posterized, false, 4, 6},
    Operation{"Solarize", solarized, false, 1, 1},
    Operation{"AutoContrast", [](const at::Tensor& pixels, double, const Sampling&) { return autocontrast(pixels); }},
    Operation{"Equalize", [](const at::Tensor& pixels, double, const Sampling&) { return equalize(pixels); }},
    Operation{"Invert", [](const at::Tensor& pixels, double, const Sampling&) { return pixels.bitwise_not(); }}};

const Operation& draw_operation(Draws& draws) { return kOperations[draws.below(kOperations.size() - 1)]; }

const Operation& operation_of(std::string_view name) {
  return *std::find_if(kOperations.begin(), kOperations.end(),
                       [&](const Operation& each) { return each.name == name; });
}

// Returns the magnitude of a bin, 0 to bins - 1, with the bits of v2's float32. Posterize keeps fewer bits, and
// Solarize has a lower threshold, with higher bins.
double magnitude_of(const Operation& operation, std::int64_t bin, std::int64_t bins, bool wide, const Image& image) {
  if (operation.greatest == 0) return 0;
  double last = wide ? operation.wide : operation.greatest;
  if (operation.change == posterized) {
    return std::nearbyint(8 - static_cast<float>(bin) / static_cast<float>(static_cast<double>(bins - 1) / last));
  }
  if (last == kShare) last *= static_cast<double>(operation.change == shifted<0> ? image.width() : image.height());
  const bool falls = operation.change == solarized;
  return at::linspace(falls ? last : 0, falls ? 0 : last, bins, at::kFloat)[bin].item<float>();
}

// Without a fill by default, as in v2.
struct AutomaticOptions : SamplingOptions {
  AutomaticOptions() { fill = nullptr; }
};

struct BinsOptions : AutomaticOptions {
  std::int64_t num_magnitude_bins = 31;
  void fields(config::Fields& f) {
    f({.name = "num_magnitude_bins", .doc = "number of magnitudes", .range = config::between(2, 1 << 16)},
      num_magnitude_bins);
    SamplingOptions::fields(f);
  }
};

// A policy, which chooses operations for an image.
class Automatic : public PixelTransform {
 public:
  std::optional<config::Value> for_evaluation() const final { return config::Value::array(); }

  // Reports the operations in their order, with the names of v2's arguments, as "operations".
  void apply(Image& image, Draws& draws, const DrawLog& draw_log) const final {
    sampling_.check(image.channels());
    config::Value operations = config::Value::array();
    choose(image, draws, draw_log, operations);
    draw_log("operations", std::move(operations));
  }

 protected:
  Automatic(const SamplingOptions& o, std::int64_t bins, bool wide = false) : sampling_(o), bins_(bins), wide_(wide) {}

  virtual void choose(Image& image, Draws& draws, const DrawLog& draw_log, config::Value& operations) const = 0;

  // Draws the sign, if the operation has one, and changes the image.
  void operate(const Operation& operation, std::int64_t bin, Image& image, Draws& draws,
               config::Value& operations) const {
    double magnitude = magnitude_of(operation, bin, bins_, wide_, image);
    if (operation.has_sign && draws.uniform() < 0.5) magnitude = -magnitude;
    operations.push_back({{"transform_id", operation.name}, {"magnitude", magnitude}});
    image.replace(operation.change(image.pixels(), magnitude, sampling_));
  }

  std::int64_t bins() const { return bins_; }

 private:
  const Sampling sampling_;
  const std::int64_t bins_;
  const bool wide_;
};

struct RandAugmentOptions : BinsOptions {
  std::int64_t num_ops = 2;
  std::int64_t magnitude = 9;
  void fields(config::Fields& f) {
    f({.name = "num_ops", .doc = "operations on each image", .range = config::at_least(0)}, num_ops);
    f({.name = "magnitude", .doc = "number of the magnitude, from 0", .range = config::at_least(0)}, magnitude);
    BinsOptions::fields(f);
  }
};

// Cubuk et al. 2019.
class RandAugment : public Automatic {
 public:
  explicit RandAugment(const RandAugmentOptions& o)
      : Automatic(o, o.num_magnitude_bins), count_(o.num_ops), bin_(o.magnitude) {
    if (bin_ < bins()) return;
    throw usage_error("must be below num_magnitude_bins, which is " + std::to_string(bins()), "magnitude");
  }

 private:
  // Draws for each operation: which it is, its sign if it has one.
  void choose(Image& image, Draws& draws, const DrawLog&, config::Value& operations) const override {
    for (std::int64_t i = 0; i < count_; ++i) operate(draw_operation(draws), bin_, image, draws, operations);
  }

  const std::int64_t count_;
  const std::int64_t bin_;
};

const bool rand_augment_registered = transforms().add<RandAugmentOptions>(
    "RandAugment", "random operations, all with one magnitude; left out in evaluation", config::made<RandAugment>);

// Mueller and Hutter 2021.
class TrivialAugmentWide : public Automatic {
 public:
  explicit TrivialAugmentWide(const BinsOptions& o) : Automatic(o, o.num_magnitude_bins, /*wide=*/true) {}

 private:
  // Draws the operation, the bin of its magnitude if it has one, its sign if it has one.
  void choose(Image& image, Draws& draws, const DrawLog&, config::Value& operations) const override {
    const Operation& operation = draw_operation(draws);
    const std::uint64_t bin = operation.greatest > 0 ? draws.below(static_cast<std::uint64_t>(bins())) : 0;
    operate(operation, static_cast<std::int64_t>(bin), image, draws, operations);
  }
};

const bool trivial_augment_wide_registered = transforms().add<BinsOptions>(
    "TrivialAugmentWide", "one random operation with a random magnitude; left out in evaluation",
    config::made<TrivialAugmentWide>);

// An operation of a policy, with its probability and the bin of its magnitude.
struct Likely {
  const char* name;
  double p;
  std::int64_t bin = 0;
};
constexpr std::size_t kRows = 25;
using Policy = std::array<Likely, 2 * kRows>;  // two operations in each row

constexpr Policy kImagenet = {
    {{"Posterize", 0.4, 8}, {"Rotate", 0.6, 9},    {"Solarize", 0.6, 5},  {"AutoContrast", 0.6}, {"Equalize", 0.8},
     {"Equalize", 0.6},     {"Posterize", 0.6, 7}, {"Posterize", 0.6, 6}, {"Equalize", 0.4},     {"Solarize", 0.2, 4},
     {"Equalize", 0.4},     {"Rotate", 0.8, 8},    {"Solarize", 0.6, 3},  {"Equalize", 0.6},     {"Posterize", 0.8, 5},
     {"Equalize", 1},       {"Rotate", 0.2, 3},    {"Solarize", 0.6, 8},  {"Equalize", 0.6},     {"Posterize", 0.4, 6},
     {"Rotate", 0.8, 8},    {"Color", 0.4, 0},     {"Rotate", 0.4, 9},    {"Equalize", 0.6},     {"Equalize", 0},
     {"Equalize", 0.8},     {"Invert", 0.6},       {"Equalize", 1},       {"Color", 0.6, 4},     {"Contrast", 1, 8},
     {"Rotate", 0.8, 8},    {"Color", 1, 2},       {"Color", 0.8, 8},     {"Solarize", 0.8, 7},  {"Sharpness", 0.4, 7},
     {"Invert", 0.6},       {"ShearX", 0.6, 5},    {"Equalize", 1},       {"Color", 0.4, 0},     {"Equalize", 0.6},
     {"Equalize", 0.4},     {"Solarize", 0.2, 4},  {"Solarize", 0.6, 5},  {"AutoContrast", 0.6}, {"Invert", 0.6},
     {"Equalize", 1},       {"Color", 0.6, 4},     {"Contrast", 1, 8},    {"Equalize", 0.8},     {"Equalize", 0.6}}};

constexpr Policy kCifar10 = {
    {{"Invert", 0.1},        {"Contrast", 0.2, 6},   {"Rotate", 0.7, 2},     {"TranslateX", 0.3, 9},
     {"Sharpness", 0.8, 1},  {"Sharpness", 0.9, 3},  {"ShearY", 0.5, 8},     {"TranslateY", 0.7, 9},
     {"AutoContrast", 0.5},  {"Equalize", 0.9},      {"ShearY", 0.2, 7},     {"Posterize", 0.3, 7},
     {"Color", 0.4, 3},      {"Brightness", 0.6, 7}, {"Sharpness", 0.3, 9},  {"Brightness", 0.7, 9},
     {"Equalize", 0.6},      {"Equalize", 0.5},      {"Contrast", 0.6, 7},   {"Sharpness", 0.6, 5},
     {"Color", 0.7, 7},      {"TranslateX", 0.5, 8}, {"Equalize", 0.3},      {"AutoContrast", 0.4},
     {"TranslateY", 0.4, 3}, {"Sharpness", 0.2, 6},  {"Brightness", 0.9, 6}, {"Color", 0.2, 8},
     {"Solarize", 0.5, 2},   {"Invert", 0},          {"Equalize", 0.2},      {"AutoContrast", 0.6},
     {"Equalize", 0.2},      {"Equalize", 0.6},      {"Color", 0.9, 9},      {"Equalize", 0.6},
     {"AutoContrast", 0.8},  {"Solarize", 0.2, 8},   {"Brightness", 0.1, 3}, {"Color", 0.7, 0},
     {"Solarize", 0.4, 5},   {"AutoContrast", 0.9},  {"TranslateY", 0.9, 9}, {"TranslateY", 0.7, 9},
     {"AutoContrast", 0.9},  {"Solarize", 0.8, 3},   {"Equalize", 0.8},      {"Invert", 0.1},
     {"TranslateY", 0.7, 9}, {"AutoContrast", 0.9}}};

constexpr Policy kSvhn = {
    {{"ShearX", 0.9, 4},     {"Invert", 0.2},        {"ShearY", 0.9, 8},     {"Invert", 0.7},      {"Equalize", 0.6},
     {"Solarize", 0.6, 6},   {"Invert", 0.9},        {"Equalize", 0.6},      {"Equalize", 0.6},    {"Rotate", 0.9, 3},
     {"ShearX", 0.9, 4},     {"AutoContrast", 0.8},  {"ShearY", 0.9, 8},     {"Invert", 0.4},      {"ShearY", 0.9, 5},
     {"Solarize", 0.2, 6},   {"Invert", 0.9},        {"AutoContrast", 0.8},  {"Equalize", 0.6},    {"Rotate", 0.9, 3},
     {"ShearX", 0.9, 4},     {"Solarize", 0.3, 3},   {"ShearY", 0.8, 8},     {"Invert", 0.7},      {"Equalize", 0.9},
     {"TranslateY", 0.6, 6}, {"Invert", 0.9},        {"Equalize", 0.6},      {"Contrast", 0.3, 3}, {"Rotate", 0.8, 4},
     {"Invert", 0.8},        {"TranslateY", 0, 2},   {"ShearY", 0.7, 6},     {"Solarize", 0.4, 8}, {"Invert", 0.6},
     {"Rotate", 0.8, 4},     {"ShearY", 0.3, 7},     {"TranslateX", 0.9, 3}, {"ShearX", 0.1, 6},   {"Invert", 0.6},
     {"Solarize", 0.7, 2},   {"TranslateY", 0.6, 7}, {"ShearY", 0.8, 4},     {"Invert", 0.8},      {"ShearX", 0.7, 9},
     {"TranslateY", 0.8, 3}, {"ShearY", 0.8, 5},     {"AutoContrast", 0.7},  {"ShearX", 0.7, 2},   {"Invert", 0.1}}};

struct AutoAugmentOptions : AutomaticOptions {
  std::string policy = "imagenet";
  void fields(config::Fields& f) {
    f({.name = "policy",
       .doc = "the data for which the policy was learned",
       .choices = {"imagenet", "cifar10", "svhn"}},
      policy);
    SamplingOptions::fields(f);
  }
};

// Cubuk et al. 2018.
class AutoAugment : public Automatic {
 public:
  explicit AutoAugment(const AutoAugmentOptions& o)
      : Automatic(o, /*bins=*/10),
        policy_(o.policy == "imagenet"  ? kImagenet
                : o.policy == "cifar10" ? kCifar10
                                        : kSvhn) {}

 private:
  // Draws the row of the policy, and for each of its two operations: whether it is applied, its sign if it is and has
  // one.
  void choose(Image& image, Draws& draws, const DrawLog& draw_log, config::Value& operations) const override {
    const std::size_t row = draws.below(kRows);
    draw_log("row", row);
    for (const Likely& each : {policy_[2 * row], policy_[2 * row + 1]}) {
      if (draws.uniform() < each.p) {
        operate(operation_of(each.name), each.bin, image, draws, operations);
      } else {
        operations.push_back(nullptr);
      }
    }
  }

  const Policy& policy_;
};

const bool auto_augment_registered = transforms().add<AutoAugmentOptions>(
    "AutoAugment", "two operations of a learned policy; left out in evaluation", config::made<AutoAugment>);

}  // namespace
}  // namespace ddp::datasets
