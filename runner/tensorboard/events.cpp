#include "tensorboard/events.h"

#include "tensorboard/event.pb.h"
#include "tensorboard/tfrecord.h"

namespace ddp::tensorboard {
namespace {

constexpr char kEpoch[] = "epoch";

void append_event(std::string& file, const wire::Event& event) {
  // Reused: a run of a small model has thousands of events per second.
  thread_local std::string bytes;
  event.SerializeToString(&bytes);
  append_record(file, bytes);
}

// Returns "val/loss" for val_loss, which TensorBoard then shows beside val/accuracy; "epoch/train_loss" beside
// "train/loss", the loss of single steps.
std::string tag_of(const std::string& metric) {
  for (const std::string kind : {"val", "test"}) {
    if (metric.starts_with(kind + "_")) return kind + "/" + metric.substr(kind.size() + 1);
  }
  return "epoch/" + metric;
}

template <class Tag>
void add(wire::Summary& summary, const Tag& tag, double value) {
  wire::Summary::Value& added = *summary.add_value();
  added.set_tag(tag);
  added.set_simple_value(static_cast<float>(value));
}

// Appends data for the plugin "hparams" under one of its tags.
void append_hyper_parameters(std::string& file, double wall_time, const char* tag, const wire::HyperParameters& data) {
  wire::Event event;
  event.set_wall_time(wall_time);
  wire::Summary::Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  auto& plugin = *value.mutable_metadata()->mutable_plugin_data();
  plugin.set_plugin_name("hparams");
  data.SerializeToString(plugin.mutable_content());
  append_event(file, event);
}

wire::Value wire_value(const config::Value& value) {
  wire::Value made;
  if (value.is_boolean()) {
    made.set_truth(value.get<bool>());
  } else if (value.is_number()) {
    made.set_number(value.get<double>());
  } else {
    made.set_text(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return made;
}

}  // namespace

void append_beginning(std::string& file, double wall_time) {
  wire::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");
  append_event(file, event);
  event.mutable_session_log()->set_status(wire::SessionLog::START);
  append_event(file, event);
}

void append_point(std::string& file, const Point& point) {
  thread_local wire::Event event;
  event.set_wall_time(point.wall_time);
  event.set_step(point.step);
  wire::Summary& summary = *event.mutable_summary();
  summary.clear_value();
  const auto& v = point.values;
  if (point.kind == Point::Kind::step) {
    add(summary, "train/loss", v[0]);
    add(summary, "train/lr", v[1]);
    add(summary, "train/samples_per_second", v[2]);
  } else {
    if (point.kind == Point::Kind::epoch) add(summary, kEpoch, v[0]);
    for (const auto& [name, value] : point.metrics) add(summary, tag_of(name), value);
  }
  append_event(file, event);
}

// Writes no "experiment" for the plugin: TensorBoard would take the first one for all runs, and would show only its
// values of the other runs. Without one, TensorBoard derives it from all runs.
void append_session_start(std::string& file, double wall_time, const config::Value& parameters) {
  wire::HyperParameters data;
  wire::SessionStart& start = *data.mutable_session_start();
  start.set_start_time(wall_time);
  for (const auto& [name, value] : parameters.items()) (*start.mutable_hyper_parameters())[name] = wire_value(value);
  append_hyper_parameters(file, wall_time, "_hparams_/session_start_info", data);
}

void append_session_end(std::string& file, double wall_time, bool success) {
  wire::HyperParameters data;
  wire::SessionEnd& end = *data.mutable_session_end();
  end.set_status(success ? wire::SessionEnd::SUCCESS : wire::SessionEnd::FAILURE);
  end.set_end_time(wall_time);
  append_hyper_parameters(file, wall_time, "_hparams_/session_end_info", data);
}

bool belongs(std::string_view record, std::int64_t step, std::int64_t epoch) {
  wire::Event event;
  if (!event.ParseFromArray(record.data(), static_cast<int>(record.size()))) return false;
  const auto& values = event.summary().value();
  if (values.empty() || values[0].has_metadata() || event.step() > step) return false;
  return values[0].tag() != kEpoch || values[0].simple_value() < static_cast<float>(epoch);
}

}  // namespace ddp::tensorboard
