#include "record/timestamp.h"

namespace ddp::record {
namespace {

constexpr const char* kForm = "%Y-%m-%dT%H:%M:%SZ";

}  // namespace

std::string timestamp(std::time_t moment) {
  std::tm utc{};
  gmtime_r(&moment, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, kForm, &utc)};
}

std::optional<std::time_t> read_timestamp(std::string_view text) {
  std::tm utc{};
  if (strptime(std::string(text).c_str(), kForm, &utc) == nullptr) return {};
  const std::time_t moment = timegm(&utc);
  // strptime also accepts shorter numbers and trailing text, and timegm takes February 31 for a day in March.
  return timestamp(moment) == text ? std::optional(moment) : std::nullopt;
}

}  // namespace ddp::record
