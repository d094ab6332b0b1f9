#include "record/metrics/event_lines.h"

#include <charconv>
#include <cmath>

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

JsonLine& JsonLine::add_json(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
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

std::string to_line(const StepRecord& r, double samples_per_second, double seconds) {
  JsonLine line("step");
  line.add("epoch", r.epoch)
      .add("step", r.step)
      .add("loss", r.loss)
      .add("lr", r.lr)
      .add("samples", r.samples)
      .add("samples_per_second", samples_per_second)
      .add("seconds", seconds);
  if (r.grad_norm) line.add("grad_norm", *r.grad_norm);
  if (r.skipped) line.add_json("skipped", "true");
  return line.finish();
}

std::string to_line(const EpochRecord& r, double samples_per_second, double seconds) {
  JsonLine line("epoch");
  line.add("epoch", r.epoch).add("step", r.step);
  for (const auto& [name, value] : r.metrics) line.add(name, value);
  return line.add("samples", r.samples).add("samples_per_second", samples_per_second).add("seconds", seconds).finish();
}

namespace {

std::string measured_line(const char* event, std::int64_t epoch, std::int64_t step, const MetricValues& metrics,
                          double seconds) {
  JsonLine line(event);
  line.add("epoch", epoch).add("step", step);
  for (const auto& [name, value] : metrics) line.add(name, value);
  return line.add("seconds", seconds).finish();
}

}  // namespace

std::string to_line(const ValidationRecord& r, double seconds) {
  return measured_line("validation", r.epoch, r.step, r.metrics, seconds);
}

std::string to_line(const TestRecord& r, double seconds) {
  return measured_line("test", r.epoch, r.step, r.metrics, seconds);
}

std::string to_line(const SaveRecord& r, double seconds) {
  JsonLine line("checkpoint");
  line.add("epoch", r.epoch).add("step", r.step).add("path", std::string_view(name_in_run(r.folder)));
  if (r.reason != SaveReason::regular) line.add("reason", std::string_view(to_string(r.reason)));
  return line.add("stall", r.stall).add("seconds", seconds).finish();
}

std::string to_line(const ResumeRecord& r, double seconds) {
  JsonLine line("resume");
  line.add("epoch", r.epoch)
      .add("step", r.step)
      .add("checkpoint", std::string_view(name_in_run(r.checkpoint)))
      .add("world_size", std::int64_t{r.world_size})
      .add_json("changes", r.changes.empty() ? "{}" : r.changes);
  if (r.origin) {
    line.add_json("origin", to_json(*r.origin).dump(-1, ' ', false, config::Value::error_handler_t::replace));
  }
  return line.add("seconds", seconds).finish();
}

std::string to_line(const RestartRecord& r, double seconds) {
  return JsonLine("restart")
      .add("epoch", r.epoch)
      .add("step", r.step)
      .add("restart", std::int64_t{r.restart})
      .add("rank", std::int64_t{r.rank})
      .add("cause", std::string_view(r.cause))
      .add("checkpoint", std::string_view(name_in_run(r.checkpoint)))
      .add("seconds", seconds)
      .finish();
}

std::string name_in_run(const std::filesystem::path& checkpoint) {
  return checkpoint.empty() ? "" : "checkpoints/" + checkpoint.filename().string();
}

}  // namespace ddp::record
