#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/option/value.h"

// Values in a folder of the cache folder that can be computed again: replies of probes, indexes of data.
namespace ddp::record {

// Returns the value of a key; nothing: there is none, or its file is damaged, or the key is "".
std::optional<config::Value> find_kept(const std::string& folder, const std::string& key);

// Keeps a value; removes the oldest ones beyond `most`. A cache folder that cannot be written keeps none.
void keep_value(const std::string& folder, const std::string& key, const config::Value& value, std::size_t most);

}  // namespace ddp::record
