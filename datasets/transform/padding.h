#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/image/image.h"

namespace ddp::datasets {

// Checks "fill" and "padding_mode" together. Throws ddp::Error (usage) where a border that is not constant has a color.
void check_padding(const std::vector<double>& fill, const std::string& mode);

// Puts a border around an image, of the color `fill` (one value, or one a channel; fractions are cut off) or made of
// its pixels, as v2.functional.pad does. Throws ddp::Error (usage) where the image is too small to be mirrored, or has
// other channels than `fill`.
void pad_image(Image& image, const Border& border, const std::vector<double>& fill, const std::string& mode);

}  // namespace ddp::datasets
