#pragma once

#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::rank {

// Returns an image transform as TOML. `transform`: its table in an experiment, which may have options without a value.
std::string transform_item(config::Value transform);

// Returns the transform to an image size: `{type="Resize",size=[12, 16]}`. `size`: "[height, width]".
std::string resize_item(const std::string& size);

// Returns the setting of a list of transforms, for a shell: "--set 'dataset.transforms=[…]'". `dataset`: the section.
std::string transforms_setting(const std::string& dataset, const std::vector<std::string>& items);

}  // namespace ddp::rank
