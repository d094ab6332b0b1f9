#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/option/option.h"
#include "datasets/draws.h"
#include "datasets/image/image.h"

// Arguments that several transforms take, in the forms that torchvision.transforms.v2 takes them.
namespace ddp::datasets {

// The option "size": an integer, [size] or [height, width].
config::Option size_of_image_option(const std::string& doc, bool required = true);
// Its value where an integer means a square. Throws ddp::Error (usage) where a list has another length.
format::ImageSize square_or_sides(const config::Value& size);

// The options "padding", "fill" and "padding_mode".
config::Option padding_option(const std::string& doc, bool required);
config::Option fill_option();
config::Option padding_mode_option();
// Padding as v2 reads it: an integer, [all], [left and right, top and bottom] or [left, top, right, bottom]. Throws
// ddp::Error (usage) where a list has another length.
Border border_of(const config::Value& padding);
// Fill: a number, or one for each channel.
std::vector<double> fill_of(const config::Value& fill);
// Throws ddp::Error (usage) where there are neither one nor `channels` values.
void check_channels(const std::vector<double>& values, std::int64_t channels, const std::string& name);

// The option "interpolation", one of `choices`.
config::Option interpolation_option(const std::vector<std::string>& choices);

// Options of two numbers, "scale" and "ratio" of an area.
config::Option scale_option(const std::string& doc, const config::Range& range);
config::Option ratio_option(const std::string& doc);

// Throws ddp::Error (usage) where the second of two bounds is below the first.
void check_bounds(const std::vector<double>& bounds, const std::string& name);

// Returns a number of [low, high), or `low` where they are equal.
inline double draw_between(double low, double high, Draws& draws) { return low + (high - low) * draws.uniform(); }
// Returns a ratio whose logarithm is uniform.
double draw_ratio(const std::vector<double>& bounds, Draws& draws);
// Rounds to the nearest whole number, halves to the even one, as Python's round().
std::int64_t rounded(double value);

}  // namespace ddp::datasets
