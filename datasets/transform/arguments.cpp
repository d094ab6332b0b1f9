#include "datasets/transform/arguments.h"

#include <cmath>

#include "base/error.h"
#include "datasets/transform/transform.h"

namespace ddp::datasets {
namespace {

std::vector<std::int64_t> integers_of(const config::Value& value) {
  if (value.is_number()) return {value.get<std::int64_t>()};
  return value.get<std::vector<std::int64_t>>();
}

}  // namespace

config::Option size_of_image_option(const std::string& doc, bool required) {
  return {.name = "size",
          .doc = doc,
          .range = config::between(1, 1 << 16),
          .required = required,
          .types = {config::Type::integer, config::Type::list},
          .item = config::Type::integer};
}

format::ImageSize square_or_sides(const config::Value& size) {
  const std::vector<std::int64_t> sides = integers_of(size);
  if (sides.size() == 1) return {.height = sides[0], .width = sides[0]};
  if (sides.size() == 2) return {.height = sides[0], .width = sides[1]};
  throw usage_error("must be an integer or [height, width], not " + size.dump(), "size");
}

config::Option padding_option(const std::string& doc, bool required) {
  return {.name = "padding",
          .doc = doc + ": for all sides, [left and right, top and bottom], or [left, top, right, bottom]",
          .range = config::between(0, 1 << 16),
          .required = required,
          .types = {config::Type::integer, config::Type::list},
          .item = config::Type::integer};
}

config::Option fill_option() {
  return {.name = "fill",
          .doc = "value of the border's pixels, 0 to 255, or a list of one for each channel",
          .range = config::between(0, 255),
          .types = {config::Type::number, config::Type::list},
          .item = config::Type::number};
}

config::Option padding_mode_option() {
  return {.name = "padding_mode",
          .doc = "border: fill, copies of the edge pixels, or a mirror image without or with the edge pixels",
          .choices = {"constant", "edge", "reflect", "symmetric"}};
}

Border border_of(const config::Value& padding) {
  const std::vector<std::int64_t> p = integers_of(padding);
  switch (p.size()) {
    case 1:
      return {.left = p[0], .top = p[0], .right = p[0], .bottom = p[0]};
    case 2:
      return {.left = p[0], .top = p[1], .right = p[0], .bottom = p[1]};
    case 4:
      return {.left = p[0], .top = p[1], .right = p[2], .bottom = p[3]};
    default:
      throw usage_error("must be an integer or a list of 1, 2 or 4 integers, not " + padding.dump(), "padding");
  }
}

std::vector<double> fill_of(const config::Value& fill) {
  if (fill.is_number()) return {fill.get<double>()};
  auto values = fill.get<std::vector<double>>();
  if (values.size() != 1 && values.size() != 3) {
    throw usage_error("must be a number or a list with a number for each channel, not " + fill.dump(), "fill");
  }
  return values;
}

void check_channels(const std::vector<double>& values, std::int64_t channels, const std::string& name) {
  if (values.size() == 1 || static_cast<std::int64_t>(values.size()) == channels) return;
  throw usage_error("\"" + name + "\" has " + std::to_string(values.size()) + " values, but the image has " +
                        std::to_string(channels) + (channels == 1 ? " channel" : " channels"),
                    "", "give one value, or one for each channel");
}

config::Option interpolation_option(const std::vector<std::string>& choices) {
  return {.name = "interpolation", .doc = "interpolation between pixels", .choices = choices};
}

config::Option degrees_option(const std::string& direction) {
  return {.name = "degrees",
          .doc = "range of the random angle, " + direction + ": x for -x to x, or [least, greatest]",
          .required = true,
          .types = {config::Type::number, config::Type::list},
          .item = config::Type::number};
}

config::Option scale_option(const std::string& doc, const config::Range& range) {
  return {.name = "scale", .doc = doc, .range = range, .length = 2};
}

config::Option ratio_option(const std::string& doc) {
  return {.name = "ratio", .doc = doc, .range = config::above(0), .length = 2};
}

void check_bounds(const std::vector<double>& bounds, const std::string& name) {
  if (bounds[0] <= bounds[1]) return;
  throw usage_error("must be [least, greatest], not " + config::Value(bounds).dump(), name);
}

std::vector<double> range_around(double center, const config::Value& value, const std::string& name) {
  if (value.is_number()) {
    const auto reach = value.get<double>();
    if (reach < 0) throw usage_error("must not be negative if it is one number", name);
    return {center - reach, center + reach};
  }
  auto bounds = value.get<std::vector<double>>();
  if (bounds.size() != 2) throw usage_error("must be a number or [least, greatest], not " + value.dump(), name);
  check_bounds(bounds, name);
  return bounds;
}

double draw_ratio(const std::vector<double>& bounds, Draws& draws) {
  return std::exp(draw_between(std::log(bounds[0]), std::log(bounds[1]), draws));
}

std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::nearbyint(value)); }

TransformRegistry& transforms() {
  static TransformRegistry all("transform");
  return all;
}

config::Option transforms_option() {
  return {.name = "transforms",
          .doc = "transforms of each image, in order: {type = \"Resize\", size = 256}, …, with torchvision v2's names",
          .types = {config::Type::list},
          .item = config::Type::table,
          .variants = transforms().specs()};
}

}  // namespace ddp::datasets
