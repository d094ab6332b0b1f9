#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "config/text/json_text.h"
#include "config/value.h"

namespace ddp::train {

// A number of a rule's state that JSON has no word for, NaN or infinite, is null there.
inline config::Value number_or_null(double number) {
  return std::isfinite(number) ? config::Value(number) : config::Value(nullptr);
}

// The reverse: null is `otherwise`. Throws std::runtime_error where the member is missing or something else.
inline double number_or(const config::Value& object, const std::string& name, double otherwise) {
  if (!object.contains(name)) throw std::runtime_error("\"" + name + "\" is missing");
  const config::Value& number = object.at(name);
  if (number.is_null()) return otherwise;
  if (!number.is_number()) throw std::runtime_error("\"" + name + "\" is no number");
  return number.get<double>();
}

}  // namespace ddp::train
