#pragma once

#include <nlohmann/json.hpp>

namespace ddp::config {

// A value of an experiment file without its place: bool, integer (int64), float (double), string, list or table, in the
// order of the file. Null means "not given".
using Value = nlohmann::ordered_json;

}  // namespace ddp::config
