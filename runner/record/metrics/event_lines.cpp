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

using config::Members;
using config::Value;

// Beside a record: the samples per second of all ranks since the previous such line, and the run's training time.
struct Pace {
  double samples_per_second = 0;
  double seconds = 0;
  EpochPace epoch = {};
};

constexpr config::Member kSeconds{"seconds", "training time of the run, carried over resumes"};
constexpr config::Member kFrom{"checkpoint", "checkpoint from which the ranks continue; empty: the start"};

// Each list() writes a line, with a JsonLine, or describes it, with config::Members.
template <class Line, class Record>
void list_place(Line& m, const Record& r) {
  m({"epoch", "counts from 0"}, r.epoch);
  m({"step", "optimizer steps done"}, r.step);
}

template <class Line>
void list(Line& m, const StepRecord& r, const Pace& pace) {
  list_place(m, r);
  m({.name = "loss", .doc = "mean over samples and ranks", .may_be_null = true}, r.loss);
  m({.name = "lr", .doc = "learning rate of this step", .may_be_null = true}, r.lr);
  m({"samples", "samples of this step, all ranks"}, r.samples);
  m({.name = "samples_per_second",
     .doc = "all ranks, since the previous line, without validations and saves",
     .may_be_null = true},
    pace.samples_per_second);
  m(kSeconds, pace.seconds);
  m({.name = "grad_norm", .doc = "before clipping; only with clip.norm", .optional = true, .may_be_null = true},
    r.grad_norm);
  m.numbers("", "further scalars of a loss of a graph", r.scalars);
  m.flag({"skipped", "fp16: the gradients were not finite, and no parameter changed"}, r.skipped);
  m.not_finite();
}

template <class Line>
void list(Line& m, const EpochRecord& r, const Pace& pace) {
  list_place(m, r);
  m.numbers("^val_", "if the epoch ended with a validation", r.metrics, "train_loss");
  m({"samples"}, r.samples);
  m({.name = "samples_per_second", .may_be_null = true}, pace.samples_per_second);
  m({"seconds_training", "of this epoch on rank 0, without validations and saves"}, pace.epoch.training);
  m({"seconds_waiting_for_data", "a part of seconds_training, as the next four"}, pace.epoch.waiting_for_data);
  m({"seconds_forward"}, pace.epoch.forward);
  m({"seconds_backward"}, pace.epoch.backward);
  m({"seconds_waiting_for_ranks"}, pace.epoch.waiting_for_ranks);
  m({"seconds_optimizer"}, pace.epoch.optimizer);
  m({"seconds_validating"}, pace.epoch.validating);
  m({"seconds_saving", "for which training waited"}, pace.epoch.saving);
  m(kSeconds, pace.seconds);
  m.not_finite();
}

template <class Line>
void list(Line& m, const ValidationRecord& r, const Pace& pace) {
  list_place(m, r);
  m.numbers("^val_", "measured inside an epoch", r.metrics);
  m(kSeconds, pace.seconds);
  m.not_finite();
}

template <class Line>
void list(Line& m, const TestRecord& r, const Pace& pace) {
  list_place(m, r);
  m.numbers("^test_", "measured once, at the end", r.metrics);
  m(kSeconds, pace.seconds);
  m.not_finite();
}

template <class Line>
void list(Line& m, const SaveRecord& r, const Pace& pace) {
  list_place(m, r);
  m({"path", "path in the run's folder"}, name_in_run(r.folder));
  m({.name = "reason", .doc = "missing: the checkpoint is regular", .choices = "best|time", .optional = true},
    r.reason == SaveReason::regular ? std::nullopt : std::optional<std::string>(to_string(r.reason)));
  m({"stall", "seconds that training waited for the save"}, r.stall);
  m(kSeconds, pace.seconds);
}

template <class Line>
void list(Line& m, const ResumeRecord& r, const Pace& pace) {
  list_place(m, r);
  m(kFrom, name_in_run(r.checkpoint));
  m({"world_size"}, r.world_size);
  m({"changes", "changes of the experiment: old value, new value"},
    r.changes.empty() ? Value::object() : Value::parse(r.changes),
    {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 2}, {"maxItems", 2}}}});
  m({.name = "origin", .doc = "only in the first line of a fork", .optional = true}, r.origin);
  m(kSeconds, pace.seconds);
}

template <class Line>
void list(Line& m, const WorldRecord& r, const Pace& pace) {
  list_place(m, r);
  m({"ranks", "from here on"}, r.ranks);
  m({"reason", "resume; or what was lost, or is back"}, r.reason);
  m(kSeconds, pace.seconds);
}

template <class Line>
void list(Line& m, const RestartRecord& r, const Pace& pace) {
  list_place(m, r);
  m({"restart", "number of the restart in the run, from 1"}, r.restart);
  m({.name = "rank", .doc = "-1: no single rank", .minimum = -1}, r.rank);
  m({"cause"}, r.cause);
  m(kFrom, name_in_run(r.checkpoint));
  m(kSeconds, pace.seconds);
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
  void members(Members& m) const {
    m({.name = "event", .choices = Record::kEvent}, std::string());
    list(m, Record{}, {});
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
