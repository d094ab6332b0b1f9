#include "report/read/history.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "config/text/json_text.h"
#include "report/read/lines.h"
#include "report/read/step_line.h"

namespace ddp::report {
namespace {

using config::Value;

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

std::int64_t count(const Value& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw std::runtime_error(std::string(key) + " is missing");
  return config::as_count(*found);
}

// What is no number where one belongs counts as 0.
double number(const Value& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : 0;
}

Place place_of(const Value& line) {
  return {.epoch = count(line, "epoch"), .step = count(line, "step"), .seconds = number(line, "seconds")};
}

constexpr std::size_t kLongestName = 64;

bool is_measured(const std::string& key, const Value& value) {
  if (key.size() > kLongestName) return false;
  return (value.is_number() || value.is_null()) && key != "epoch" && key != "step" && key != "seconds";
}

// Of a fork's first line, what record::Origin has.
Value origin_in(const Value& given) {
  Value origin = Value::object();
  for (const char* key : {"run", "checkpoint"}) {
    if (given.contains(key) && given[key].is_string()) origin[key] = given[key];
  }
  if (given.contains("step") && given["step"].is_number()) origin["step"] = given["step"];
  return origin;
}

// The members of these names and kinds, and none else.
Value happening(const Value& line, const Place& place) {
  Value kept = {{"event", line["event"]}, {"epoch", place.epoch}, {"step", place.step}, {"seconds", place.seconds}};
  for (const char* key : {"path", "cause", "checkpoint", "reason"}) {
    if (line.contains(key) && line[key].is_string()) kept[key] = line[key];
  }
  for (const char* key : {"stall", "restart", "rank", "world_size"}) {
    if (line.contains(key) && line[key].is_number()) kept[key] = line[key];
  }
  if (line.contains("changes") && line["changes"].is_object()) kept["changes"] = line["changes"];
  if (line.contains("origin") && line["origin"].is_object()) kept["origin"] = origin_in(line["origin"]);
  return kept;
}

class Reader {
 public:
  explicit Reader(History& history) : history_(history) {}

  // False: the line is none of ours.
  bool take(std::string_view text) try {
    if (const auto step = read_step_line(text)) return take_step(*step);
    const Value line = config::parse_value(text);
    const Value event = line.is_object() && line.contains("event") ? line["event"] : Value();
    if (event == "step" || event == "epoch") return take_numbers(line, event == "step");
    if (event == "checkpoint") {
      history_.checkpoints.add(happening(line, place_of(line)));
    } else if (event == "restart" || event == "resume") {
      history_.goings_on.add(happening(line, place_of(line)));
    }
    // Another event may be a later version's.
    return event.is_string();
  } catch (const std::exception&) {
    return false;
  }

 private:
  bool take_step(const StepLine& line) {
    if (history_.steps.rows() > 0 && line.place.step <= history_.steps.last().step) return false;
    const Curves::Entry entries[] = {
        {"loss", line.loss}, {"lr", line.lr}, {"samples_per_second", line.samples_per_second}};
    history_.steps.add(line.place, entries);
    return true;
  }

  // Each step and each epoch is there once, in their order: what is not is somebody else's.
  bool take_numbers(const Value& line, bool is_step) {
    Curves& curves = is_step ? history_.steps : history_.epochs;
    const Place place = place_of(line);
    const Place& last = curves.last();
    if (curves.rows() > 0 && (is_step ? place.step <= last.step : place.epoch <= last.epoch)) return false;
    std::vector<Curves::Entry> entries;
    for (const auto& [key, value] : line.items()) {
      if (key == "samples" || !is_measured(key, value)) continue;
      entries.push_back({key, value.is_null() ? kNotFinite : value.get<double>()});
    }
    curves.add(place, entries);
    return true;
  }

  History& history_;
};

}  // namespace

void Happenings::add(config::Value happening) {
  ++in_all;
  if (newest.size() == kMost) newest.erase(newest.begin());
  newest.push_back(std::move(happening));
}

History read_history(const std::filesystem::path& metrics, std::size_t most_points) {
  History history(most_points);
  std::error_code none;
  if (!std::filesystem::exists(metrics, none)) return history;
  Lines lines(metrics);
  Reader reader(history);
  while (const auto line = lines.next()) {
    if (!reader.take(*line)) ++history.passed_over;
  }
  history.passed_over += lines.passed_over();
  return history;
}

}  // namespace ddp::report
