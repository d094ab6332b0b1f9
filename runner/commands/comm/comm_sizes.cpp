#include "commands/comm/comm_sizes.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/text/source.h"

namespace ddp::commands {
namespace {

constexpr const char* kSizesRemedy = "write it as 4096, 64KiB, 1KiB..64MiB (doubling), 1KiB..1GiB:4 or 1KiB,1MiB";
constexpr std::size_t kMostSizes = 10'000;

constexpr std::pair<std::string_view, std::int64_t> kSizeUnits[] = {
    {"", 1},
    {"B", 1},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"TiB", std::int64_t{1} << 40},
    {"K", std::int64_t{1} << 10},
    {"M", std::int64_t{1} << 20},
    {"G", std::int64_t{1} << 30},
    {"T", std::int64_t{1} << 40},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
};

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw usage_error(config::in_quotes(text) + " " + what, "--sizes", kSizesRemedy);
}

// Takes a whole number off the front of the text.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::int64_t parse_size(std::string_view text) {
  std::string_view unit = text;
  const auto number = take_number(unit);
  if (!number) refuse(text, "is not a size");
  if (*number <= 0) refuse(text, "is not a size: at least 1 byte is sent");
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, bytes] : kSizeUnits) {
    if (unit != name) continue;
    if (*number > std::numeric_limits<std::int64_t>::max() / bytes) refuse(text, "is more than a machine's memory");
    return *number * bytes;
  }
  refuse(text, "is not a size: unknown unit " + config::in_quotes(unit));
}

// A..B or A..B:FACTOR
std::vector<std::int64_t> parse_range(std::string_view text, std::size_t dots) {
  const std::int64_t first = parse_size(text.substr(0, dots));
  std::string_view end = text.substr(dots + 2);
  std::int64_t factor = 2;
  if (const auto colon = end.find(':'); colon != end.npos) {
    std::string_view rest = end.substr(colon + 1);
    const auto given = take_number(rest);
    if (!given || !rest.empty() || *given < 2) refuse(text, "needs a whole number of at least 2 as its factor");
    factor = *given;
    end = end.substr(0, colon);
  }
  const std::int64_t last = parse_size(end);
  if (first > last) refuse(text, "ends before it begins");
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first;; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) return sizes;
  }
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    if (const auto dots = one.find(".."); dots != one.npos) {
      const auto range = parse_range(one, dots);
      sizes.insert(sizes.end(), range.begin(), range.end());
    } else {
      sizes.push_back(parse_size(one));
    }
    if (sizes.size() > kMostSizes) refuse(text, "is more than " + std::to_string(kMostSizes) + " sizes");
    if (comma == rest.npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

std::string size_in_words(std::int64_t bytes) {
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + " " + unit;
}

}  // namespace ddp::commands
