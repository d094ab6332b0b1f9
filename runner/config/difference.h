#pragma once

#include <optional>
#include <string>

#include "config/value.h"

namespace ddp::config {

// A place where two values differ.
struct Difference {
  std::string key;  // "optimizer.lr"
  std::string first;
  std::string second;  // as JSON, cut off where it is long; "missing" where it is not there
};

// The first one.
std::optional<Difference> first_difference(const Value& first, const Value& second);

// All, by their keys: {"optimizer.lr": [0.1, 0.2]}, null where one is not there. Lists are compared whole.
Value differences(const Value& first, const Value& second);

// One of these in words: `optimizer.lr was 0.1, is 0.2`.
std::string change_in_words(const std::string& key, const Value& change);

}  // namespace ddp::config
