#include "config/time_span.h"

#include <charconv>
#include <utility>

namespace ddp::config {
namespace {

constexpr std::int64_t kLongestSpan = 1'000'000'000;

}  // namespace

std::optional<std::int64_t> read_time_span(const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::int64_t seconds = 0;
  for (const auto& [unit, length] : {std::pair{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}) {
    std::uint32_t count = 0;
    const auto [rest, error] = std::from_chars(at, end, count);
    if (error != std::errc{} || rest == end || *rest != unit) continue;
    seconds += static_cast<std::int64_t>(count) * length;
    at = rest + 1;
  }
  if (at != end || seconds < 1 || seconds > kLongestSpan) return {};
  return seconds;
}

}  // namespace ddp::config
