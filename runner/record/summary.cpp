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

// Returns the matrices that were measured at this step or before it, as an object by name. Leaves out unreadable ones.
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

}  // namespace

void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step) {
  if (by_name.empty()) return;
  config::Value kept = read_matrices(run);
  for (const auto& [name, rows] : by_name.items()) kept[name] = {{"step", step}, {"rows", rows}};
  write_atomically(run.matrices(), kept.dump() + "\n");
}

config::Value schema_of_metrics(const std::string& prefixes, bool with_matrices) {
  const config::Value number = {{"type", {"number", "null"}}};
  config::Value keys = config::Value::object();
  if (with_matrices) {
    keys["^(val|test)_confusion$"] = {{"description", "one row per true class, one column per predicted class"},
                                      {"type", "array"},
                                      {"items", {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}}}};
  }
  keys["^(" + prefixes + ")_" + (with_matrices ? "(?!confusion$)" : "")] = number;
  return {{"type", "object"}, {"patternProperties", std::move(keys)}, {"additionalProperties", false}};
}

void ValidationFigures::members(config::Members& m) const {
  m({"metric", "checkpoint.metric"}, metric);
  m({"value", "of that metric"}, value);
  m({"step"}, step);
  m({"epoch"}, epoch);
  m({"values", "every metric of this validation"}, values, schema_of_metrics("val", false));
  m.numbers("^train_", "of that epoch, once it has ended", train.items());
}

void TestFigures::members(config::Members& m) const {
  m({"step", "of the weights"}, step);
  m({"epoch", "of the weights"}, epoch);
  m({"values"}, values, schema_of_metrics("test", true));
}

namespace {

struct Nothing {
  void members(config::Members&) const {}
};

// {}: nothing was measured.
std::variant<ValidationFigures, Nothing> or_nothing(const std::optional<ValidationFigures>& measured) {
  if (measured) return *measured;
  return Nothing();
}

}  // namespace

void ReplayFigures::members(config::Members& m) const {
  m({"steps", "computed without the autograd engine"}, steps);
  m({"eager_steps", "computed with it"}, eager_steps);
  m({"calls", "of kernels in a replayed micro-batch"}, calls);
  m({"own_calls", "of these, of ddp-exp's own kernels, which had ATen's bits when the step was recorded"}, own_calls);
  m({"reason", "why no further step was replayed; null: none"}, config::unless_empty(reason));
  m({"reason_of_evaluations", "why validations and tests did not replay forwards that had other bits; null: none had"},
    config::unless_empty(reason_of_evaluations));
}

void Environment::members(config::Members& m) const {
  m({"program", "version, hash of all sources, compiler"}, program);
  m({"libtorch"}, libtorch);
  m({"cpu_capability", "vector instructions: avx512, avx2 or default"}, cpu_capability);
  m({"threads", "of a rank; 0: the program chose"}, threads);
  m({.name = "data", .doc = "files and hashes of their content", .type = "array"}, data);
  m({.name = "sources", .doc = "hash of each source", .type = "object"}, sources);
  m({.name = "graphs", .doc = "hash of each graph in the run's folder", .type = "object"}, graphs);
}

std::optional<Environment> environment_in(const config::Value& summary) try {
  const config::Value& kept = summary.at("environment");
  return Environment{.program = kept.at("program"),
                     .libtorch = kept.at("libtorch"),
                     .cpu_capability = kept.at("cpu_capability"),
                     .threads = kept.at("threads"),
                     .data = kept.at("data"),
                     .sources = kept.at("sources"),
                     .graphs = kept.at("graphs")};
} catch (const config::Value::exception&) {
  return {};
}

void Summary::members(config::Members& m) const {
  m.version();
  m({.name = "status", .choices = kStatuses}, status);
  m({"stuck", "the rank that holds up a run that trains, and where; null: it goes on"}, config::unless_empty(stuck));
  m({.name = "stopped_by", .doc = "the rule of [stop] that ended the run; null: none", .choices = kStopRules},
    config::unless_empty(stopped_by));
  m({"name"}, name);
  m({"run_id"}, run_id);
  m({.name = "started", .pattern = kTimestampPattern}, started);
  m({.name = "ended", .pattern = kTimestampPattern}, config::unless_empty(ended));
  m({"epochs", "finished epochs"}, epochs);
  m({"steps", "optimizer steps done"}, steps);
  m({"total_steps", "when all are done; 0: not known yet"}, total_steps);
  m({"skipped_steps", "of `steps`, left out because a loss or a gradient was not finite"}, skipped_steps);
  m({"replay", "of the newest process"}, replay);
  m({.name = "shard",
     .doc = "optimizer: each rank of the newest process updated its share of the parameters",
     .choices = "none|optimizer"},
    shard);
  m({"final", "the last measured values"}, final_metrics, schema_of_metrics("train|val|test", true));
  m({"best", "of the best checkpoint, which commands use; {}: nothing was measured"}, or_nothing(best));
  m({"last", "of the newest validation; {}: nothing was measured"}, or_nothing(last));
  m({"test", "null: no test"}, test);
  m({"held_out", "the same in runs that are measured on the same rows, of validation or else of the test; null: none"},
    config::unless_empty(held_out));
  m({"seconds", "training time over all resumes"}, seconds);
  m({"parameters", "number of the model's parameters; 0: not built yet"}, parameters);
  m({"frozen_parameters", "frozen ones of `parameters`"}, frozen_parameters);
  m({"world_size"}, world_size);
  m({"devices", "devices of each rank"}, devices);
  m({"backend", "none: a single process"}, backend);
  m({"host", "machine of the process that writes the run"}, config::unless_empty(host));
  m.as<std::map<std::string, std::string>>({"versions"}, versions);
  m({"environment", "all that decides about the bits beside the settings"}, environment);
  m.as<std::optional<Git>>({"git", "git state of the experiment file's folder; null outside a git checkout"}, git);
  m({"config_hash"}, config_hash);
  m({"restarts", "number of restarts by --max-restarts"}, restarts);
  m({"origin", "of a fork"}, origin);
  m({"launch", "id of the launch by a launcher"}, config::unless_empty(launch));
  m({"error", "cause of the failure"}, error);
  tags.members(m);
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
  Summary whole = s;
  whole.run_id = run.path().filename().string();
  whole.tags = read_tags(run);
  if (s.status != "running") {
    whole.ended = timestamp(std::time(nullptr));
    const config::Value matrices = kept_matrices(run, s.steps);
    for (const auto& [name, rows] : matrices.items()) {
      const bool tested = name.starts_with(config::kTestPrefix);
      if (!tested) whole.final_metrics[name] = rows;
      if (tested && whole.test) whole.test->values[name] = rows;
    }
  }
  write_atomically(run.summary(), to_text(config::written(whole)) + "\n");
}

void renew_tags(const RunDirectory& run) try {
  if (run.is_locked()) return;
  const FileDescriptor lock = run.lock();
  config::Value summary = last_summary(run);
  if (summary.value("status", "running") == "running") return;  // killed, or on another machine
  summary.update(config::written(read_tags(run)));
  write_atomically(run.summary(), to_text(summary) + "\n");
} catch (const Error&) {  // all commands read tags.json
}

}  // namespace ddp::record
