#include "record/summary.h"

#include <exception>
#include <utility>

#include "config/metric.h"
#include "config/text/json_text.h"
#include "record/file/atomic_file.h"

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

namespace {

config::Value read_matrices(const RunDirectory& run) {
  std::error_code none;
  if (!std::filesystem::exists(run.matrices(), none)) return config::Value::object();
  try {
    config::Value kept = config::Value::parse(read_text(run.matrices()));
    if (kept.is_object()) return kept;
  } catch (const std::exception&) {  // damaged: the next measurement writes a new file
  }
  return config::Value::object();
}

}  // namespace

void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step) {
  if (by_name.empty()) return;
  config::Value kept = read_matrices(run);
  for (const auto& [name, rows] : by_name.items()) kept[name] = {{"step", step}, {"rows", rows}};
  write_atomically(run.matrices(), kept.dump() + "\n");
}

config::Value kept_matrices(const RunDirectory& run, std::int64_t step) {
  config::Value found = config::Value::object();
  const config::Value kept = read_matrices(run);
  for (const auto& [name, one] : kept.items()) {
    const bool whole =
        one.is_object() && one.contains("rows") && one.contains("step") && one["step"].is_number_integer();
    if (whole && one["step"].get<std::int64_t>() <= step) found[name] = one["rows"];
  }
  return found;
}

config::Value to_json(const Origin& origin) {
  return {{"run", origin.run}, {"checkpoint", origin.checkpoint}, {"step", origin.step}};
}

std::optional<Origin> read_origin(const config::Value& json) {
  if (!json.is_object()) return {};
  Origin origin;
  for (const auto& [key, field] : {std::pair{"run", &origin.run}, std::pair{"checkpoint", &origin.checkpoint}}) {
    if (const auto found = json.find(key); found != json.end() && found->is_string())
      *field = found->get<std::string>();
  }
  try {
    if (const auto step = json.find("step"); step != json.end()) origin.step = config::as_count(*step);
  } catch (const std::exception&) {  // the step stays 0
  }
  return origin;
}

config::Value last_summary(const RunDirectory& run) {
  std::error_code none;
  if (!std::filesystem::exists(run.summary(), none)) return config::Value::object();
  auto summary = config::Value::parse(read_text(run.summary()), nullptr, /*allow_exceptions=*/false);
  return summary.is_object() ? summary : config::Value::object();
}

std::optional<Origin> origin_of(const RunDirectory& run) {
  return read_origin(last_summary(run).value("origin", config::Value()));
}

namespace {

// Like dump(2), but with each row of a matrix on one line.
std::string to_text(const config::Value& value, const std::string& indent = "") {
  constexpr auto kReplace = config::Value::error_handler_t::replace;
  const bool of_rows = value.is_array() && !value.empty() && value[0].is_array();
  if ((!value.is_object() && !value.is_array()) || value.empty()) return value.dump(-1, ' ', false, kReplace);
  const std::string deeper = indent + "  ";
  std::string text;
  for (const auto& [key, item] : value.items()) {
    text += (text.empty() ? "\n" : ",\n") + deeper;
    if (value.is_object()) text += config::Value(key).dump(-1, ' ', false, kReplace) + ": ";
    text += of_rows ? item.dump() : to_text(item, deeper);
  }
  return (value.is_object() ? "{" : "[") + text + "\n" + indent + (value.is_object() ? "}" : "]");
}

}  // namespace

void write_summary(const RunDirectory& run, const Summary& s) {
  config::Value final_metrics = s.final_metrics;
  config::Value test = s.test;
  if (s.status != "running") {
    const config::Value matrices = kept_matrices(run, s.steps);
    for (const auto& [name, rows] : matrices.items()) {
      const bool tested = name.starts_with(config::kTestPrefix);
      if (!tested || !test.empty()) (tested ? test : final_metrics)[name] = rows;
    }
  }
  config::Value json = {
      {"version", 1},
      {"status", s.status},
      {"stopped_by", s.stopped_by.empty() ? config::Value(nullptr) : config::Value(s.stopped_by)},
      {"name", s.name},
      {"run_id", run.path().filename().string()},
      {"started", s.started},
      {"ended", s.status == "running" ? config::Value(nullptr) : config::Value(timestamp(std::time(nullptr)))},
      {"epochs", s.epochs},
      {"steps", s.steps},
      {"skipped_steps", s.skipped_steps},
      {"final", final_metrics},
      {"best", s.best},
      {"test", test.empty() ? config::Value(nullptr) : test},
      {"seconds", s.seconds},
      {"parameters", s.parameters},
      {"frozen_parameters", s.frozen_parameters},
      {"world_size", s.world_size},
      {"devices", s.devices},
      {"backend", s.backend},
      {"versions", s.versions},
      {"git", s.git},
      {"config_hash", s.config_hash},
      {"restarts", s.restarts},
      {"origin", s.origin ? to_json(*s.origin) : config::Value(nullptr)},
      {"launch", s.launch.empty() ? config::Value(nullptr) : config::Value(s.launch)},
      {"error", nullptr},
  };
  if (s.error) json["error"] = {{"rank", s.error->rank}, {"what", s.error->what}, {"log", s.error->log}};
  write_atomically(run.summary(), to_text(json) + "\n");
}

}  // namespace ddp::record
