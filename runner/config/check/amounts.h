#pragma once

#include <optional>
#include <string>

#include "config/value.h"

namespace ddp::config {

// A setting in the unit of its key.
struct Amount {
  std::string path;  // of the key that takes the value
  Value value;
};

// Returns the setting that a value in another unit means: stop.max_time = "90m" for "90 minutes", grace = 30 for "30s",
// checkpoint.save_every_steps = 100 for save_every = "100 steps", validation.split = 0.2 for 20 and "20%",
// scheduler.warmup = "10%" for 0.1. Nothing: the key or the unit is not known.
std::optional<Amount> amount_meant(const std::string& path, const Value& value);

}  // namespace ddp::config
