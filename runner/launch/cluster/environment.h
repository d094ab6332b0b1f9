#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ddp::launch {

// Returns the value of a variable; nothing if it is not set or empty.
inline std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace ddp::launch
