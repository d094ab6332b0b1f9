#pragma once

#include <string>
#include <vector>

#include "config/value.h"

namespace ddp::report {

// "val_loss<0.3": a key, one of < <= > >= = !=, and a number or a text.
struct Condition {
  std::string key;
  std::string comparison;
  config::Value value;

  // Does it ask for an order: is it none of = and != ?
  bool orders() const { return comparison != "=" && comparison != "!="; }
};

// Reads `condition (and condition)*`. A condition is a key, a comparison and a value: a number, one bare word, or a
// text in single or double quotes. Throws ddp::Error (usage) with the place where the text breaks this rule, and where
// a key that is always a number is compared with a text.
std::vector<Condition> parse_conditions(const std::string& text);

}  // namespace ddp::report
