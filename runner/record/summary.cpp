#include "record/summary.h"

#include <exception>
#include <utility>

#include "config/metric.h"
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

void ValidationFigures::fields(config::Fields& f) {
  f({"metric", "checkpoint.metric"}, metric);
  f({"value", "of that metric"}, value);
  f({"step"}, step);
  f({"epoch"}, epoch);
  f({"values", "every metric of this validation"}, values, schema_of_metrics("val", false));
  f.numbers("^train_", "of that epoch, once it has ended", train.items());
}

void TestFigures::fields(config::Fields& f) {
  f({"step", "of the weights"}, step);
  f({"epoch", "of the weights"}, epoch);
  f({"values"}, values, schema_of_metrics("test", true));
}

namespace {

struct Nothing {
  void fields(config::Fields&) {}
};

// {}: nothing was measured.
std::variant<ValidationFigures, Nothing> or_nothing(const std::optional<ValidationFigures>& measured) {
  if (measured) return *measured;
  return Nothing();
}

}  // namespace

void ReplayFigures::fields(config::Fields& f) {
  f({"steps", "computed without the autograd engine"}, steps);
  f({"eager_steps", "computed with it"}, eager_steps);
  f({"calls", "of kernels in a replayed micro-batch"}, calls);
  f({"own_calls", "of these, of ddp-exp's own kernels, which had ATen's bits when the step was recorded"}, own_calls);
  f({"unused_parameters",
     "parameters to which rank 0's replayed step gives no gradient (distributed.find_unused_parameters)"},
    unused_parameters);
  f({.name = "reason", .doc = "why no further step was replayed; null: none", .may_be_null = true}, reason);
  f({.name = "reason_of_evaluations",
     .doc = "why validations and tests did not replay forwards that had other bits; null: none had",
     .may_be_null = true},
    reason_of_evaluations);
}

void Environment::fields(config::Fields& f) {
  f({"program", "version, hash of all sources, compiler"}, program);
  f({"libtorch"}, libtorch);
  f({"cpu_capability", "vector instructions: avx512, avx2 or default"}, cpu_capability);
  f({"threads", "of a rank; 0: the program chose"}, threads);
  f({"data", "files and hashes of their content"}, data);
  f({.name = "sources", .doc = "hash of each source", .types = {config::Type::table}}, sources);
  f({.name = "graphs", .doc = "hash of each graph in the run's folder", .types = {config::Type::table}}, graphs);
}

std::optional<Environment> environment_in(const config::Value& summary) try {
  return config::read_written<Environment>(summary.at("environment"));
} catch (const std::exception&) {
  return {};
}

void Summary::fields(config::Fields& f) {
  f.version();
  f({.name = "status", .choices = kStatuses}, status);
  f(kStuck, stuck);
  f(kStoppedBy, stopped_by);
  f({"name"}, name);
  f({"run_id"}, run_id);
  f({.name = "started", .pattern = kTimestampPattern}, started);
  f({.name = "ended", .pattern = kTimestampPattern, .may_be_null = true}, ended);
  f({"epochs", "finished epochs"}, epochs);
  f({"steps", "optimizer steps done"}, steps);
  f({"total_steps", "when all are done; 0: not known yet"}, total_steps);
  f({"skipped_steps", "of `steps`, left out because a loss or a gradient was not finite"}, skipped_steps);
  f({"replay", "of the newest process"}, replay);
  f({.name = "shard",
     .doc = "optimizer: each rank of the newest process updated its share of the parameters",
     .choices = {"none", "optimizer"}},
    shard);
  f({"final", "the last measured values"}, final_metrics, schema_of_metrics("train|val|test", true));
  f({"best", "of the best checkpoint, which commands use; {}: nothing was measured"}, or_nothing(best));
  f({"last", "of the newest validation; {}: nothing was measured"}, or_nothing(last));
  f({"test", "null: no test"}, test);
  f({.name = "held_out",
     .doc = "the same in runs that are measured on the same rows, of validation or else of the test; null: none",
     .may_be_null = true},
    held_out);
  f({"seconds", "training time over all resumes"}, seconds);
  f({"parameters", "number of the model's parameters; 0: not built yet"}, parameters);
  f({"frozen_parameters", "frozen ones of `parameters`"}, frozen_parameters);
  f({"world_size"}, world_size);
  f({"devices", "devices of each rank"}, devices);
  f({"backend", "none: a single process"}, backend);
  f({.name = "host", .doc = "machine of the process that writes the run", .may_be_null = true}, host);
  f.as<std::map<std::string, std::string>>({"versions"}, versions);
  f({"environment", "all that decides about the bits beside the settings"}, environment);
  f.as<std::optional<Git>>({"git", "git state of the experiment file's folder; null outside a git checkout"}, git);
  f({"config_hash"}, config_hash);
  f({"restarts", "number of restarts by --max-restarts"}, restarts);
  f({"origin", "of a fork"}, origin);
  f({.name = "launch", .doc = "id of the launch by a launcher", .may_be_null = true}, launch);
  f({"error", "cause of the failure"}, error);
  tags.fields(f);
}

std::optional<Origin> read_origin(const config::Value& json) try {
  return config::read_written<Origin>(json);
} catch (const Error&) {
  return {};
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
