#include "config/check/amounts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

#include "config/run_part.h"
#include "config/time_span.h"

namespace ddp::config {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Returns the letter of a unit of time: "h" for "hours". 0: it is no such unit.
char time_unit(std::string_view word) {
  constexpr std::array<std::string_view, 18> kWords = {"d",       "day",   "days", "h",    "hr",     "hrs",
                                                       "hour",    "hours", "m",    "min",  "mins",   "minute",
                                                       "minutes", "s",     "sec",  "secs", "second", "seconds"};
  return std::find(kWords.begin(), kWords.end(), word) == kWords.end() ? '\0' : word.front();
}

// "1:30:00" becomes "1h30m00s"; another text stays.
std::string with_units(std::string text) {
  if (std::count(text.begin(), text.end(), ':') != 2) return text;
  text.replace(text.find(':'), 1, "h").replace(text.find(':'), 1, "m");
  return text + "s";
}

// Returns a span of time in the form of stop.max_time: "2h30m" for "2 hours 30 min". Empty: the text is no such span.
std::string time_span_meant(const std::string& text) {
  std::string plain;
  for (const char c : with_units(text)) {
    if (c != ' ') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::string span;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::size_t number = std::min(rest.find_first_not_of(kDigits), rest.size());
    const std::size_t end = std::min(rest.find_first_of(kDigits, number), rest.size());
    const char unit = time_unit(rest.substr(number, end - number));
    if (number == 0 || unit == '\0') return "";
    span += std::string(rest.substr(0, number)) + unit;
    rest.remove_prefix(end);
  }
  return read_time_span(span) ? span : "";
}

std::optional<Amount> time_meant(const std::string& path, const Value& value) {
  if (value.is_number_integer() && value > 0) return Amount{path, std::to_string(value.get<std::int64_t>()) + "s"};
  const std::string span = value.is_string() ? time_span_meant(value.get<std::string>()) : "";
  return span.empty() ? std::nullopt : std::optional(Amount{path, span});
}

std::optional<Amount> seconds_meant(const std::string& path, const Value& value) {
  const auto seconds = value.is_string() ? read_time_span(time_span_meant(value.get<std::string>())) : std::nullopt;
  return seconds ? std::optional(Amount{path, *seconds}) : std::nullopt;
}

// Returns whole epochs for the key that counts them, and whole steps for `steps_path`.
std::optional<Amount> period_meant(const std::string& path, const std::string& steps_path, const Value& value) {
  const auto part = value.is_string() ? read_run_part(value.get<std::string>()) : std::nullopt;
  if (!part || part->unit == RunPart::Unit::share || part->amount != std::floor(part->amount)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(part->amount);
  return Amount{part->unit == RunPart::Unit::epochs ? path : steps_path, whole};
}

// Returns the share that a percentage means.
std::optional<Amount> share_meant(const std::string& path, const Value& value) {
  const auto part = value.is_string() ? read_run_part(value.get<std::string>()) : std::nullopt;
  const bool is_percentage = part && part->unit == RunPart::Unit::share;
  const double percent = is_percentage ? part->amount : value.is_number() ? value.get<double>() : 0;
  const bool is_share = (is_percentage && percent > 0 && percent < 100) || (percent > 1 && percent < 100);
  return is_share ? std::optional(Amount{path, percent / 100}) : std::nullopt;
}

// Returns the percentage that a number below 1 means where a part of a run is expected.
std::optional<Amount> percentage_meant(const std::string& path, const Value& value) {
  const double share = value.is_number_float() ? value.get<double>() : 0;
  if (share <= 0 || share >= 1) return std::nullopt;
  std::string percent = std::to_string(share * 100);
  percent.erase(percent.find_last_not_of('0') + 1);
  if (percent.ends_with('.')) percent.pop_back();
  return Amount{path, percent + "%"};
}

}  // namespace

std::optional<Amount> amount_meant(const std::string& path, const Value& value) {
  if (path == "stop.max_time") return time_meant(path, value);
  if (path == "grace" || path == "distributed.timeout") return seconds_meant(path, value);
  if (path == "checkpoint.save_every") return period_meant(path, "checkpoint.save_every_steps", value);
  if (path == "validation.every") return period_meant(path, path, value);
  if (path == "scheduler.warmup" || path == "scheduler.decay") return percentage_meant(path, value);
  const bool is_share = path == "validation.split" || path == "test.split";
  return is_share ? share_meant(path, value) : std::nullopt;
}

}  // namespace ddp::config
