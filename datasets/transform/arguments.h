#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "datasets/draws.h"
#include "datasets/image/image.h"

// Arguments of several transforms, in the forms of torchvision.transforms.v2.
namespace ddp::datasets {

// The option "size": an integer, [size] or [height, width].
config::Option size_of_image_option(const std::string& doc, bool required = true);
// Reads its value; an integer means a square. Throws ddp::Error (usage) if a list has another length.
format::ImageSize square_or_sides(const config::Value& size);

// The options "padding", "fill" and "padding_mode".
config::Option padding_option(const std::string& doc, bool required);
config::Option fill_option();
config::Option padding_mode_option();
// Reads padding as v2 does: an integer, [all], [left and right, top and bottom] or [left, top, right, bottom]. Throws
// ddp::Error (usage) if a list has another length.
Border border_of(const config::Value& padding);
// Reads fill: a number, or one for each channel.
std::vector<double> fill_of(const config::Value& fill);
// Throws ddp::Error (usage) unless `values` has one or `channels` elements.
void check_channels(const std::vector<double>& values, std::int64_t channels, const std::string& name);

// The option "interpolation", one of `choices`.
config::Option interpolation_option(const std::vector<std::string>& choices);

// The option "degrees" of a random angle, in this direction.
config::Option degrees_option(const std::string& direction);

// The options "scale" and "ratio" of an area: two numbers each.
config::Option scale_option(const std::string& doc, const config::Range& range);
config::Option ratio_option(const std::string& doc);

// Throws ddp::Error (usage) if the second bound is below the first.
void check_bounds(const std::vector<double>& bounds, const std::string& name);

// Reads a range as v2 does: x for `center` - x to `center` + x, or [least, greatest]. Throws ddp::Error (usage) if x is
// negative or a list has another form.
std::vector<double> range_around(double center, const config::Value& value, const std::string& name);

// Returns a number in [low, high), or `low` if both are equal.
inline double draw_between(double low, double high, Draws& draws) { return low + (high - low) * draws.uniform(); }
// Returns a ratio whose logarithm is uniform.
double draw_ratio(const std::vector<double>& bounds, Draws& draws);
// Rounds to the nearest integer, halves to even, as Python's round().
std::int64_t rounded(double value);

}  // namespace ddp::datasets
