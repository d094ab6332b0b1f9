#include "report/read/turns.h"

#include <exception>
#include <string_view>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "report/read/lines.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::uintmax_t kLargestMetrics = std::uintmax_t{8} << 30;
constexpr std::size_t kMost = 1000;

std::string text_of(const config::Value& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

void add(std::vector<Turn>& turns, std::string_view text) try {
  const config::Value line = config::parse_value(text);
  Turn turn;
  turn.event = text_of(line, "event");
  if (turn.event != "restart" && turn.event != "resume") return;
  turn.step = config::as_count(line.at("step"));
  // Of many lines, the first says what, the others where.
  const std::string cause = text_of(line, "cause");
  turn.cause = config::printable(cause.substr(0, cause.find('\n')));
  if (const auto rank = line.find("rank"); rank != line.end() && rank->is_number_unsigned()) {
    turn.cause = "rank " + rank->dump() + ": " + turn.cause;
  }
  if (const auto changes = line.find("changes"); changes != line.end() && changes->is_object()) {
    turn.changes = *changes;
  }
  if (const auto origin = line.find("origin"); origin != line.end() && origin->is_object()) {
    turn.origin = config::printable(text_of(*origin, "run"));
  }
  turns.push_back(std::move(turn));
} catch (const std::exception&) {  // damaged: no line of ours
}

}  // namespace

std::vector<Turn> turns_of(const std::filesystem::path& metrics) {
  std::vector<Turn> turns;
  std::error_code none;
  if (!std::filesystem::exists(metrics, none)) return turns;
  const std::uintmax_t size = std::filesystem::file_size(metrics, none);
  if (!none && size > kLargestMetrics) throw usage_error("is too large to look through for restarts", metrics.string());
  Lines lines(metrics);
  while (const auto line = lines.next()) {
    if (line->starts_with("{\"event\":\"re") && turns.size() < kMost) add(turns, *line);
  }
  return turns;
}

std::string in_words(const Turn& turn) {
  std::string text = "after step " + std::to_string(turn.step);
  if (!turn.origin.empty()) text += " of " + turn.origin;
  if (!turn.cause.empty()) text += ": " + turn.cause;
  for (const auto& [key, values] : turn.changes.items()) {
    if (!values.is_array() || values.size() != 2) continue;
    text += ", " + config::printable(key) + " " + in_words(values[1]) + " for " + in_words(values[0]);
  }
  return text;
}

config::Value to_json(const Turn& turn) {
  config::Value json = {{"event", turn.event}, {"step", turn.step}};
  if (turn.event == "restart") json["cause"] = turn.cause;
  if (turn.event == "resume") json["changes"] = turn.changes;
  if (!turn.origin.empty()) json["origin"] = turn.origin;
  return json;
}

}  // namespace ddp::report
