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

  // Does it need ordered values, that is, is it neither = nor != ?
  bool orders() const { return comparison != "=" && comparison != "!="; }
};

// Parses `condition (and condition)*`. A condition is a key, a comparison and a value: a number, one bare word, or a
// text in single or double quotes. Throws ddp::Error (usage) with the place of a syntax error, or if a key that is
// always a number is compared with a text.
std::vector<Condition> parse_conditions(const std::string& text);

}  // namespace ddp::report
