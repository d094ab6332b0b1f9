#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/image/image.h"

namespace ddp::datasets {

// Checks "fill" and "padding_mode" together. Throws ddp::Error (usage) if `fill` is a list and the border is not
// constant.
void check_padding(const std::vector<double>& fill, const std::string& mode);

// Adds a border to an image as v2.functional.pad does: of the color `fill` (one value, or one per channel; fractions
// are truncated) or of the image's pixels. Throws ddp::Error (usage) if the image is too small for a mirror image, or
// if the number of its channels does not fit `fill`.
void pad_image(Image& image, const Border& border, const std::vector<double>& fill, const std::string& mode);

}  // namespace ddp::datasets
