#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace ddp::record {

// A moment as summaries say it: RFC 3339, UTC, "2026-11-21T21:04:05Z".
std::string timestamp(std::time_t moment);

// The moment that such a text says; nothing where it is none.
std::optional<std::time_t> read_timestamp(std::string_view text);

}  // namespace ddp::record
