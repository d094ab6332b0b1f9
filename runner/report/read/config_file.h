#pragma once

#include <filesystem>
#include <string>

#include "config/value.h"

namespace ddp::report {

// What a TOML file of a results folder says, in its order: a run's config.toml, which has every key. A component is a
// table with its name, also where the file has the short form. Throws ddp::Error where it cannot be read.
config::Value read_config(const std::filesystem::path& file);

// The value of a key, "optimizer.lr"; of a component, "optimizer", its name; null where there is none.
const config::Value* value_at(const config::Value& config, const std::string& key);

}  // namespace ddp::report
