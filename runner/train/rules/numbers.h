#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "config/text/json_text.h"
#include "config/value.h"

namespace ddp::train {

// Returns a number for JSON; NaN and infinity, which JSON does not have, become null.
inline config::Value number_or_null(double number) {
  return std::isfinite(number) ? config::Value(number) : config::Value(nullptr);
}

// Reads a number written by number_or_null(); null becomes `otherwise`. Throws std::runtime_error if the member is
// missing or has another type.
inline double number_or(const config::Value& object, const std::string& name, double otherwise) {
  if (!object.contains(name)) throw std::runtime_error("\"" + name + "\" is missing");
  const config::Value& number = object.at(name);
  if (number.is_null()) return otherwise;
  if (!number.is_number()) throw std::runtime_error("\"" + name + "\" is not a number");
  return number.get<double>();
}

}  // namespace ddp::train
