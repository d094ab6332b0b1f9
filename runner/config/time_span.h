#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddp::config {

// Returns the seconds of a text such as "2h30m": whole days (d), hours (h), minutes (m) and seconds (s), each at most
// once, in this order. Returns nothing if the text has another form, is 0 or is more than 1e9 seconds.
std::optional<std::int64_t> read_time_span(const std::string& text);

}  // namespace ddp::config
