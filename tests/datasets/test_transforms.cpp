#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "datasets/transforms.h"
#include "errors.h"
#include "words.h"

namespace ddp::datasets {
namespace {

using config::Value;

// Returns the first part that is missing in an error's text; "" if it has all parts.
std::string missing(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (!contains(text, part)) return "\"" + part + "\" in: " + text;
  }
  return "";
}

TEST_CASE("without transforms pixels become numbers from 0 to 1") {
  const at::Tensor pixels = numbered_pixels(1, 16, 16);
  CHECK(at::equal(transformed(Value::array(), pixels), as_numbers(pixels)));
}

TEST_CASE("numbers are normalized as in torchvision, for one channel and for three") {
  const at::Tensor pixels = numbered_pixels(3, 16, 16);
  const Value list = {{{"type", "Normalize"}, {"mean", {0.1, 0.2, 0.3}}, {"std", {0.5, 0.6, 0.7}}}};
  const at::Tensor mean = at::tensor({0.1, 0.2, 0.3}, at::kFloat).view({3, 1, 1});
  const at::Tensor deviation = at::tensor({0.5, 0.6, 0.7}, at::kFloat).view({3, 1, 1});
  CHECK(at::equal(transformed(list, pixels), as_numbers(pixels).sub(mean).div(deviation)));
  CHECK(missing(error_of([&] { transformed(list, numbered_pixels(1, 8, 8)); }),
                {"image.png", "\"mean\" has 3 values", "1 channel"}) == "");
}

TEST_CASE("a sample's draws depend only on seed, epoch and index") {
  const Value list = {{{"type", "RandomCrop"}, {"size", 8}, {"padding", 4}},
                      {{"type", "RandomHorizontalFlip"}},
                      {{"type", "ColorJitter"}, {"brightness", 0.5}}};
  const at::Tensor pixels = numbered_pixels(3, 16, 16);
  const Pipeline pipeline(list, 42, false);
  const auto open = [&](std::int64_t) { return Image(pixels); };
  const auto name = [](std::int64_t i) { return std::to_string(i); };
  const at::Tensor all = pipeline.batch(at::arange(10), 3, open, name);
  const at::Tensor some = pipeline.batch(at::tensor({7, 2}, at::kLong), 3, open, name);
  CHECK(at::equal(some[0], all[7]));
  CHECK(at::equal(some[1], all[2]));
  CHECK_FALSE(at::equal(pipeline.batch(at::arange(10), 4, open, name), all));
  CHECK_FALSE(at::equal(Pipeline(list, 43, false).batch(at::arange(10), 3, open, name), all));
}

TEST_CASE("all places of a crop are equally likely, and a flip is as likely as none") {
  const Value list = {{{"type", "RandomCrop"}, {"size", 6}, {"padding", 1}}, {{"type", "RandomHorizontalFlip"}}};
  const at::Tensor pixels = numbered_pixels(1, 6, 6);
  std::map<std::int64_t, int> tops;
  std::map<std::int64_t, int> lefts;
  int flips = 0;
  for (std::int64_t sample = 0; sample < 3000; ++sample) {
    const Value draws = drawn(list, pixels, sample);
    ++tops[draws[0]["top"].get<std::int64_t>()];
    ++lefts[draws[0]["left"].get<std::int64_t>()];
    flips += draws[1]["apply"].get<bool>() ? 1 : 0;
  }
  CHECK(tops.size() == 3);
  CHECK(lefts.size() == 3);
  for (const auto& count : {tops[0], tops[1], tops[2], lefts[0], lefts[1], lefts[2]})
    CHECK(std::abs(count - 1000) < 80);
  CHECK(std::abs(flips - 1500) < 90);
}

TEST_CASE("a random resized crop has areas and aspect ratios within its bounds") {
  const Value list = {{{"type", "RandomResizedCrop"}, {"size", 4}}};
  const at::Tensor pixels = numbered_pixels(1, 200, 300);
  double least = 1;
  double greatest = 0;
  double shares = 0;
  constexpr int kSamples = 2000;
  for (int sample = 0; sample < kSamples; ++sample) {
    const Value part = drawn(list, pixels, sample)[0];
    const auto height = part["height"].get<double>();
    const auto width = part["width"].get<double>();
    CHECK(width / height > 0.7);
    CHECK(width / height < 1.4);
    CHECK(part["top"].get<double>() + height <= 200);
    CHECK(part["left"].get<double>() + width <= 300);
    const double share = height * width / (200 * 300);
    least = std::min(least, share);
    greatest = std::max(greatest, share);
    shares += share / kSamples;
  }
  CHECK(least < 0.09);
  CHECK(greatest > 0.8);
  CHECK(std::abs(shares - 0.391) < 0.015);  // the mean of 20000 draws of v2
}

TEST_CASE("the erased part has areas as v2 draws them and lies inside the image") {
  const Value list = {{{"type", "RandomErasing"}, {"p", 1}, {"value", 5}}};
  const at::Tensor pixels = numbered_pixels(1, 40, 60);
  double shares = 0;
  constexpr int kSamples = 2000;
  for (int sample = 0; sample < kSamples; ++sample) {
    const Value part = drawn(list, pixels, sample)[0];
    const auto height = part["h"].get<std::int64_t>();
    const auto width = part["w"].get<std::int64_t>();
    CHECK(part["i"].get<std::int64_t>() + height <= 40);
    CHECK(part["j"].get<std::int64_t>() + width <= 60);
    shares += static_cast<double>(height * width) / (40 * 60) / kSamples;
  }
  CHECK(std::abs(shares - 0.170) < 0.007);  // the mean of 8000 draws of v2
  const Value part = drawn(list, pixels)[0];
  const at::Tensor erased = transformed(list, pixels).eq(5);
  CHECK(erased.sum().item<std::int64_t>() == part["h"].get<std::int64_t>() * part["w"].get<std::int64_t>());
}

TEST_CASE("all kinds of operations, signs and magnitudes are equally likely") {
  const Value list = {{{"type", "RandAugment"}, {"num_ops", 1}}, {{"type", "TrivialAugmentWide"}}};
  const at::Tensor pixels = numbered_pixels(3, 6, 6);
  std::array<std::map<std::string, int>, 2> kinds;
  std::map<double, int> angles;
  for (std::int64_t sample = 0; sample < 1400; ++sample) {
    const Value draws = drawn(list, pixels, sample);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const Value operation = draws[i].at("operations").at(0);
      ++kinds[i][operation.at("transform_id")];
      if (i == 1 && operation.at("transform_id") == "Rotate") ++angles[operation.at("magnitude")];
    }
  }
  for (const auto& counts : kinds) {
    CHECK(counts.size() == 14);
    for (const auto& [kind, count] : counts) CHECK(std::abs(count - 100) < 45);
  }
  // About 100 of 61 angles: 0, and 30 with both signs.
  CHECK(angles.size() > 35);
  int positive = 0;
  for (const auto& [angle, count] : angles) positive += angle > 0 ? count : 0;
  CHECK(std::abs(positive - 50) < 25);
}

TEST_CASE("corners on a line have no perspective: the image stays") {
  const Value list = {{{"type", "RandomPerspective"}, {"p", 1}, {"distortion_scale", 1}}};
  const at::Tensor pixels = numbered_pixels(1, 1, 9);
  CHECK(drawn(list, pixels)[0] == Value{{"type", "RandomPerspective"}, {"apply", false}});
  CHECK(at::equal(transformed(list, pixels), as_numbers(pixels)));
}

TEST_CASE("an image that no drawn crop fits gives its center, as large as the bounds allow") {
  const at::Tensor pixels = numbered_pixels(1, 4, 300);
  const Value list = {{{"type", "RandomResizedCrop"}, {"size", 4}, {"scale", {0.9, 1.0}}}};
  const Value part = drawn(list, pixels)[0];
  CHECK(part == Value{{"type", "RandomResizedCrop"}, {"top", 0}, {"left", 147}, {"height", 4}, {"width", 5}});
}

TEST_CASE("a list for evaluation has nothing random: crops become crops of the center") {
  const at::Tensor pixels = numbered_pixels(3, 300, 400);
  const Value normalize = {{"type", "Normalize"}, {"mean", {0.5}}, {"std", {0.25}}};
  const auto derived = [&](const Value& list) { return transformed(list, pixels, /*sample=*/5, /*derived=*/true); };
  const Value cropped = {{{"type", "Resize"}, {"size", 256}}, {{"type", "CenterCrop"}, {"size", 224}}, normalize};
  CHECK(at::equal(derived({{{"type", "RandomResizedCrop"}, {"size", 224}},
                           {{"type", "RandomHorizontalFlip"}},
                           {{"type", "RandomVerticalFlip"}},
                           {{"type", "ColorJitter"}, {"hue", 0.5}},
                           {{"type", "RandomRotation"}, {"degrees", 90}},
                           {{"type", "RandomAffine"}, {"degrees", 90}},
                           {{"type", "RandomPerspective"}},
                           {{"type", "RandomGrayscale"}},
                           {{"type", "GaussianBlur"}, {"kernel_size", 3}},
                           {{"type", "RandAugment"}},
                           {{"type", "TrivialAugmentWide"}},
                           {{"type", "AutoAugment"}},
                           normalize,
                           {{"type", "RandomErasing"}, {"p", 1}}}),
                  transformed(cropped, pixels)));
  const Value sides = {{{"type", "Resize"}, {"size", {114, 73}}}, {{"type", "CenterCrop"}, {"size", {100, 64}}}};
  CHECK(at::equal(derived({{{"type", "RandomResizedCrop"}, {"size", {100, 64}}}}), transformed(sides, pixels)));
  CHECK(at::equal(derived({{{"type", "RandomCrop"}, {"size", 32}, {"padding", 400}, {"fill", 255}}}),
                  transformed({{{"type", "CenterCrop"}, {"size", 32}}}, pixels)));
}

TEST_CASE("a transform of pixels after a transform of floats is refused, in evaluation too") {
  const Value list = {{{"type", "RandomErasing"}}, {{"type", "Resize"}, {"size", 8}}};
  for (const bool derived : {false, true}) {
    const std::string error = error_of([&] { Pipeline(list, 42, derived); });
    CHECK(missing(error, {"transforms[1] Resize", "comes after RandomErasing"}) == "");
  }
}

TEST_CASE("arguments that v2 refuses are refused by name") {
  const auto refusal = [](const Value& entry) { return error_of([&] { Pipeline(Value::array({entry}), 42, false); }); };
  CHECK(missing(refusal({{"type", "Resize"}}), {"\"size\" is missing"}) == "");
  CHECK(missing(refusal({{"type", "Resize"}, {"size", {1, 2, 3}}}), {"[height, width], not [1,2,3]"}) == "");
  CHECK(missing(refusal({{"type", "Resize"}, {"size", 9}, {"max_size", 9}}), {"\"max_size\" must be gre"}) == "");
  CHECK(missing(refusal({{"type", "Resize"}, {"size", {9, 9}}, {"max_size", 19}}),
                {"\"max_size\" needs a size of the shorter side"}) == "");
  CHECK(missing(refusal({{"type", "Pad"}, {"padding", {1, 2, 3}}}), {"1, 2 or 4 integers, not [1,2,3]"}) == "");
  CHECK(missing(refusal({{"type", "Pad"}, {"padding", 1}, {"fill", {1, 2, 3}}, {"padding_mode", "edge"}}),
                {"\"fill\" a list needs padding_mode"}) == "");
  CHECK(missing(refusal({{"type", "RandomResizedCrop"}, {"size", 8}, {"scale", {0.5, 0.1}}}),
                {"\"scale\" must be [least, greatest]"}) == "");
  CHECK(missing(refusal({{"type", "RandomErasing"}, {"ratio", {2, 1}}}), {"\"ratio\" must be [least"}) == "");
  CHECK(missing(refusal({{"type", "RandomRotation"}, {"degrees", -1.0}}), {"\"degrees\" must not be neg"}) == "");
  CHECK(missing(refusal({{"type", "ColorJitter"}, {"hue", -0.1}}), {"\"hue\" must not be negative"}) == "");
  CHECK(missing(refusal({{"type", "ColorJitter"}, {"contrast", {2.0, 1.0}}}), {"\"contrast\" must be"}) == "");
  CHECK(missing(refusal({{"type", "RandomAffine"}, {"degrees", 0}, {"scale", {2.0, 1.0}}}), {"\"scale\" must be"}) ==
        "");
  CHECK(missing(refusal({{"type", "RandomAffine"}, {"degrees", 0}, {"shear", -1.0}}), {"\"shear\" must not be"}) == "");
  CHECK(missing(refusal({{"type", "RandomAffine"}, {"degrees", 0}, {"shear", {1, 2, 3}}}),
                {"\"shear\" must be a number or a list of 2 or 4 numbers, not [1,2,3]"}) == "");
  CHECK(missing(refusal({{"type", "GaussianBlur"}, {"kernel_size", {3, 4}}}),
                {"\"kernel_size\" must be an odd integer", "not [3,4]"}) == "");
  CHECK(missing(refusal({{"type", "GaussianBlur"}, {"kernel_size", 3}, {"sigma", {2.0, 1.0}}}),
                {"\"sigma\" must be [least, greatest]"}) == "");
  CHECK(missing(refusal({{"type", "RandAugment"}, {"magnitude", 10}, {"num_magnitude_bins", 10}}),
                {"\"magnitude\" must be below num_magnitude_bins, which is 10"}) == "");
  CHECK(missing(refusal({{"type", "Grayscale"}, {"num_output_channels", 2}}), {"must be 1 or 3"}) == "");
  CHECK(missing(refusal({{"type", "Normalize"}, {"mean", {0.5}}, {"std", {0.5, 0.5, 0.0}}}),
                {"\"std\" must not be 0"}) == "");
}

TEST_CASE("an image that does not fit is an error with its name and the remedy") {
  CHECK(missing(error_of([&] {
                  transformed({{{"type", "RandomCrop"}, {"size", 9}}}, numbered_pixels(3, 9, 8));
                }),
                {"image.png: RandomCrop", "9 x 9 is larger", "9 x 8", "pad_if_needed"}) == "");
  const Value reflected = {{{"type", "Pad"}, {"padding", 8}, {"padding_mode", "reflect"}}};
  CHECK(missing(error_of([&] { transformed(reflected, numbered_pixels(3, 9, 8)); }),
                {"image.png", "8 pixels is too small"}) == "");
  const Value blurred = {{{"type", "GaussianBlur"}, {"kernel_size", {17, 5}}}};
  CHECK(missing(error_of([&] { transformed(blurred, numbered_pixels(3, 9, 8)); }),
                {"image.png", "9 x 8 is too small for a kernel_size of [17, 5]"}) == "");
  for (const Value& entry : {Value{{"type", "RandAugment"}}, Value{{"type", "RandomPerspective"}, {"p", 0}}}) {
    Value filled = entry;
    filled["fill"] = {1, 2, 3};
    CHECK(missing(error_of([&] { transformed(Value::array({filled}), numbered_pixels(1, 9, 8)); }),
                  {"image.png", "\"fill\" has 3 values"}) == "");
  }

  const Pipeline nothing(Value::array(), 42, false);
  const auto open = [](std::int64_t i) { return Image(numbered_pixels(3, 8 + i, 9)); };
  const auto name = [](std::int64_t i) { return std::to_string(i) + ".png"; };
  CHECK(missing(error_of([&] { nothing.batch(at::arange(3), 0, open, name); }),
                {"1.png", "is 3 x 9 x 9, but 0.png is 3 x 8 x 9", "Resize"}) == "");
}

}  // namespace
}  // namespace ddp::datasets
