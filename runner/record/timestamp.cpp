#include "record/timestamp.h"

namespace ddp::record {
namespace {

constexpr std::string_view kForm = "0000-00-00T00:00:00Z";

int number(std::string_view digits) {
  int value = 0;
  for (const char digit : digits) value = 10 * value + (digit - '0');
  return value;
}

}  // namespace

std::string timestamp(std::time_t moment) {
  std::tm utc{};
  gmtime_r(&moment, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::optional<std::time_t> read_timestamp(std::string_view text) {
  if (text.size() != kForm.size()) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return {};
  }
  std::tm utc{};
  utc.tm_year = number(text.substr(0, 4)) - 1900;
  utc.tm_mon = number(text.substr(5, 2)) - 1;
  utc.tm_mday = number(text.substr(8, 2));
  utc.tm_hour = number(text.substr(11, 2));
  utc.tm_min = number(text.substr(14, 2));
  utc.tm_sec = number(text.substr(17, 2));
  const std::time_t moment = timegm(&utc);
  // The 31st of February is no day: it would be read as one of March.
  return timestamp(moment) == text ? std::optional(moment) : std::nullopt;
}

}  // namespace ddp::record
