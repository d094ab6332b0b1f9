#pragma once

#include <filesystem>
#include <string>

#include "config/value.h"

namespace ddp::report {

// Returns the content of a TOML file of a results folder in its order, such as a run's config.toml, which has every
// key. A component becomes a table with its name, even if the file has the short form. Throws ddp::Error if the file
// cannot be read.
config::Value read_config(const std::filesystem::path& file);

// Returns the value of a key, "optimizer.lr"; for a component, "optimizer", its name; null if the key is missing.
const config::Value* value_at(const config::Value& config, const std::string& key);

}  // namespace ddp::report
