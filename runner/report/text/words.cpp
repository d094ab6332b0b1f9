#include "report/text/words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "config/text/source.h"

namespace ddp::report {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

}  // namespace

// Amounts of money, counts and the like are read without an exponent.
std::string in_words(double number) {
  const bool is_amount = std::abs(number) >= 9999.5 && std::abs(number) < 9'999'999.5;
  return format(is_amount ? "%.0f" : "%.4g", number);
}

std::string in_words(const std::optional<double>& number) { return number ? in_words(*number) : ""; }

std::string in_words(const config::Value& value) {
  if (value.is_string() && value != "") return config::printable(value.get_ref<const std::string&>());
  if (value.is_number_float()) {
    char shortest[32];
    return {shortest, std::to_chars(shortest, shortest + sizeof shortest, value.get<double>()).ptr};
  }
  return config::printable(value.dump(-1, ' ', false, config::Value::error_handler_t::replace));
}

std::string duration(double seconds) {
  if (seconds < 0.0995) return format("%.2g ms", seconds * 1000);
  if (seconds < 10) return format("%.2f s", seconds);
  if (seconds < 60) return format("%.1f s", seconds);
  // Far beyond any run: only avoids an overflow.
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15));
  if (whole < 3600) return format("%dm %02ds", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  if (whole < 86400) return format("%dh %02dm", static_cast<int>(whole / 3600), static_cast<int>(whole / 60 % 60));
  return format("%lldd %dh", static_cast<long long>(whole / 86400), static_cast<int>(whole / 3600 % 24));
}

std::string bytes_in_words(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string age(std::time_t moment, std::time_t now) {
  const long long seconds = std::max<std::time_t>(0, now - moment);
  if (seconds < 60) return format("%llds", seconds);
  if (seconds < 3600) return format("%lldm", seconds / 60);
  if (seconds < 2 * 86400) return format("%lldh", seconds / 3600);
  return format("%lldd", seconds / 86400);
}

std::string local_time(std::time_t moment) {
  std::tm local{};
  localtime_r(&moment, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local)};
}

std::string counted(std::int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

void print_json(const config::Value& value, std::ostream& out) {
  out << value.dump(2, ' ', false, config::Value::error_handler_t::replace) << std::endl;
}

const char* colour_of_status(const std::string& status) {
  if (status == "failed" || status == "stuck") return "31";
  if (status == "running") return "32";
  return status == "interrupted" ? "33" : "";
}

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

}  // namespace ddp::report
