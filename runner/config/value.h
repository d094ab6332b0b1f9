#pragma once

#include <nlohmann/json.hpp>

namespace ddp::config {

// A value of an experiment file without its position: bool, integer (int64), float (double), string, list
// or table, in the file's order. Null stands for "not given".
using Value = nlohmann::ordered_json;

}  // namespace ddp::config
