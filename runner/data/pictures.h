#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/value.h"

namespace ddp::data {

// Samples as pictures: the "images" of data::preview. `inputs`: numbers [n, …]. `shape`: [h, w] or [c, h, w] of a
// sample, where it is other than that of `inputs`; empty: theirs. `labels`: a text a sample, or none. Returns an empty
// list where samples are no pictures. A picture that is wider or higher than 96 pixels is thinned out.
config::Value pictures_of(const at::Tensor& inputs, const std::vector<std::int64_t>& shape,
                          const std::vector<std::string>& labels);

}  // namespace ddp::data
