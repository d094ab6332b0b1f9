#include "record/metrics/event_lines.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace ddp::record {

JsonLine::JsonLine(std::string_view event) {
  text_.reserve(192);
  text_ += "{\"event\":\"";
  text_ += event;
  text_ += '"';
}

void JsonLine::key(std::string_view name) {
  text_ += ",\"";
  text_ += name;
  text_ += "\":";
}

JsonLine& JsonLine::add(std::string_view name, std::int64_t value) {
  key(name);
  char digits[24];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

JsonLine& JsonLine::add(std::string_view name, std::string_view value) {
  key(name);
  text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return *this;
}

JsonLine& JsonLine::add(std::string_view name, const config::Value& value) {
  key(name);
  text_ += value.dump(-1, ' ', false, config::Value::error_handler_t::replace);
  return *this;
}

JsonLine& JsonLine::add(std::string_view name, double value) {
  key(name);
  if (!std::isfinite(value)) {
    text_ += "null";
    finite_ = false;
    return *this;
  }
  char digits[32];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

std::string JsonLine::finish() {
  if (!finite_) text_ += ",\"finite\":false";
  text_ += "}\n";
  return std::move(text_);
}

namespace {

using config::Fields;
using config::Value;

// Beside a record: the samples per second of all ranks since the previous such line, and the run's training time.
struct Pace {
  double samples_per_second = 0;
  double seconds = 0;
  EpochPace epoch = {};
};

constexpr const char* kSeconds = "training time of the run, carried over resumes";
constexpr const char* kFrom = "checkpoint from which the ranks continue; empty: the start";

// Each list() writes a line, with a JsonLine, or describes it, with config::Fields.
template <class Line, class Record>
void list_place(Line& f, const Record& r) {
  f({"epoch", "counts from 0"}, r.epoch);
  f({"step", "optimizer steps done"}, r.step);
}

template <class Line>
void list(Line& f, const StepRecord& r, const Pace& pace) {
  list_place(f, r);
  f({.name = "loss", .doc = "mean over samples and ranks", .may_be_null = true}, r.loss);
  f({.name = "lr", .doc = "learning rate of this step", .may_be_null = true}, r.lr);
  f({"samples", "samples of this step, all ranks"}, r.samples);
  f({.name = "samples_per_second",
     .doc = "all ranks, since the previous line, without validations and saves",
     .may_be_null = true},
    pace.samples_per_second);
  f({"seconds", kSeconds}, pace.seconds);
  f({.name = "grad_norm", .doc = "before clipping; only with clip.norm", .optional = true, .may_be_null = true},
    r.grad_norm);
  f.numbers("", "further scalars of a loss of a graph", r.scalars);
  f.flag({"skipped", "fp16: the gradients were not finite, and no parameter changed"}, r.skipped);
  f.not_finite();
}

template <class Line>
void list(Line& f, const EpochRecord& r, const Pace& pace) {
  list_place(f, r);
  f.numbers("^val_", "if the epoch ended with a validation", r.metrics, "train_loss");
  f({"samples"}, r.samples);
  f({.name = "samples_per_second", .may_be_null = true}, pace.samples_per_second);
  f({"seconds_training", "of this epoch on rank 0, without validations and saves"}, pace.epoch.training);
  f({"seconds_waiting_for_data", "a part of seconds_training, as the next four"}, pace.epoch.waiting_for_data);
  f({"seconds_forward"}, pace.epoch.forward);
  f({"seconds_backward"}, pace.epoch.backward);
  f({"seconds_waiting_for_ranks"}, pace.epoch.waiting_for_ranks);
  f({"seconds_optimizer"}, pace.epoch.optimizer);
  f({"seconds_validating"}, pace.epoch.validating);
  f({"seconds_saving", "for which training waited"}, pace.epoch.saving);
  f({.name = "fetched_bytes", .doc = "of a stream of URLs, by the ranks of the first node", .optional = true},
    pace.epoch.fetched_bytes);
  f({.name = "retries", .doc = "of requests for these bytes", .optional = true}, pace.epoch.retries);
  f({"seconds", kSeconds}, pace.seconds);
  f.not_finite();
}

template <class Line>
void list(Line& f, const ValidationRecord& r, const Pace& pace) {
  list_place(f, r);
  f.numbers("^val_", "measured inside an epoch", r.metrics);
  f({"seconds", kSeconds}, pace.seconds);
  f.not_finite();
}

template <class Line>
void list(Line& f, const TestRecord& r, const Pace& pace) {
  list_place(f, r);
  f.numbers("^test_", "measured once, at the end", r.metrics);
  f({"seconds", kSeconds}, pace.seconds);
  f.not_finite();
}

template <class Line>
void list(Line& f, const SaveRecord& r, const Pace& pace) {
  list_place(f, r);
  f({"path", "path in the run's folder"}, name_in_run(r.folder));
  f({.name = "reason", .doc = "missing: the checkpoint is regular", .choices = {"best", "time"}, .optional = true},
    r.reason == SaveReason::regular ? std::nullopt : std::optional<std::string>(config::name_of(r.reason)));
  f({"stall", "seconds that training waited for the save"}, r.stall);
  f({"seconds", kSeconds}, pace.seconds);
}

template <class Line>
void list(Line& f, const ResumeRecord& r, const Pace& pace) {
  list_place(f, r);
  f({"checkpoint", kFrom}, name_in_run(r.checkpoint));
  f({"world_size"}, r.world_size);
  f({"changes", "changes of the experiment: old value, new value"},
    r.changes.empty() ? Value::object() : Value::parse(r.changes),
    {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 2}, {"maxItems", 2}}}});
  f({.name = "origin", .doc = "only in the first line of a fork", .optional = true}, r.origin);
  f({"seconds", kSeconds}, pace.seconds);
}

template <class Line>
void list(Line& f, const WorldRecord& r, const Pace& pace) {
  list_place(f, r);
  f({"ranks", "from here on"}, r.ranks);
  f({"reason", "resume; or what was lost, or is back"}, r.reason);
  f({"seconds", kSeconds}, pace.seconds);
}

template <class Line>
void list(Line& f, const RestartRecord& r, const Pace& pace) {
  list_place(f, r);
  f({"restart", "number of the restart in the run, from 1"}, r.restart);
  f({.name = "rank", .doc = "-1: no single rank", .range = config::at_least(-1)}, r.rank);
  f({"cause"}, r.cause);
  f({"checkpoint", kFrom}, name_in_run(r.checkpoint));
  f({"seconds", kSeconds}, pace.seconds);
}

template <class Record>
std::string line_of(const Record& record, const Pace& pace) {
  JsonLine line(Record::kEvent);
  list(line, record, pace);
  return line.finish();
}

// A line as its schema describes it.
template <class Record>
struct DescribedLine {
  void fields(Fields& f) {
    f({.name = "event", .choices = {Record::kEvent}}, std::string());
    list(f, Record{}, {});
  }
};

}  // namespace

std::string to_line(const StepRecord& r, double samples_per_second, double seconds) {
  return line_of(r, {samples_per_second, seconds});
}

std::string to_line(const EpochRecord& r, double samples_per_second, const EpochPace& pace, double seconds) {
  return line_of(r, {samples_per_second, seconds, pace});
}

std::string to_line(const ValidationRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }
std::string to_line(const TestRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }
std::string to_line(const SaveRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }
std::string to_line(const ResumeRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }
std::string to_line(const WorldRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }

std::string to_line(const RestartRecord& r, double seconds) { return line_of(r, {.seconds = seconds}); }

bool is_key_of_step(const std::string& key) {
  const double not_finite = std::numeric_limits<double>::quiet_NaN();
  static const config::Value line =
      config::Value::parse(to_line(StepRecord{.loss = not_finite, .grad_norm = 0, .skipped = true}, 0, 0));
  return line.contains(key);
}

config::Value metrics_schema() {
  return config::output_schema<
      std::variant<DescribedLine<StepRecord>, DescribedLine<EpochRecord>, DescribedLine<ValidationRecord>,
                   DescribedLine<TestRecord>, DescribedLine<SaveRecord>, DescribedLine<WorldRecord>,
                   DescribedLine<RestartRecord>, DescribedLine<ResumeRecord>>>("one line of metrics.jsonl");
}

std::string name_in_run(const std::filesystem::path& checkpoint) {
  return checkpoint.empty() ? "" : "checkpoints/" + checkpoint.filename().string();
}

}  // namespace ddp::record
