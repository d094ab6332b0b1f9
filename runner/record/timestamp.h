#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace ddp::record {

// Returns a time as summaries give it: RFC 3339, UTC, "2026-11-21T21:04:05Z".
std::string timestamp(std::time_t moment);

// Parses such a text; returns nothing if it is invalid.
std::optional<std::time_t> read_timestamp(std::string_view text);

}  // namespace ddp::record
