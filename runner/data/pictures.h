#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/value.h"

namespace ddp::data {

// Converts samples to pictures: the "images" of data::preview. `inputs`: numbers [n, …]. `shape`: the shape [h, w] or
// [c, h, w] of a sample, if it differs from the shape in `inputs`; else empty. `labels`: one text for each sample, or
// empty. Returns an empty list if samples are not pictures. Subsamples pictures that are wider or higher than 96
// pixels.
config::Value pictures_of(const at::Tensor& inputs, const std::vector<std::int64_t>& shape,
                          const std::vector<std::string>& labels);

}  // namespace ddp::data
