#include "tensorboard/event_log.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace ddp::tensorboard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kEvery = std::chrono::milliseconds(500);
// Time between two attempts to begin the file.
constexpr auto kPause = std::chrono::seconds(10);
// Most bytes of events that wait in memory while the disk takes none: two thirds of a million steps.
constexpr std::size_t kMostWaiting = 64 << 20;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

EventLog::EventLog(EventLogOptions options) : o_(std::move(options)), wall_time_at_0_(wall_time() - o_.seconds) {
  writer_ = std::thread(&EventLog::write_in_background, this);
}

EventLog::~EventLog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void EventLog::step(const record::StepRecord& r, double samples_per_second, double seconds) {
  add({.wall_time = wall_time_at_0_ + seconds,
       .step = r.step,
       .values = {r.loss, r.lr, samples_per_second},
       .metrics = r.scalars});
}

void EventLog::epoch(const record::EpochRecord& r, double seconds) {
  add({.kind = Point::Kind::epoch,
       .wall_time = wall_time_at_0_ + seconds,
       .step = r.step,
       .values = {static_cast<double>(r.epoch)},
       .metrics = r.metrics});
}

void EventLog::validation(const record::ValidationRecord& r, double seconds) {
  const double wall_time = wall_time_at_0_ + seconds;
  add({.kind = Point::Kind::validation, .wall_time = wall_time, .step = r.step, .metrics = r.metrics});
}

void EventLog::add(Point point) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(point));
}

void EventLog::finish(bool success) {
  const std::lock_guard lock(mutex_);
  success_ = success;
}

void EventLog::write_in_background() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wake_.wait_for(lock, kEvery, [this] { return closing_; });
    last = closing_;
    lock.unlock();
    write(last);
    lock.lock();
  }
}

void EventLog::encode_waiting() {
  std::optional<bool> success;
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(waiting_);
    success = std::exchange(success_, {});
  }
  if (given_up_) {
    taken_.clear();
    return;
  }
  for (const Point& point : taken_) append_point(unwritten_, point);
  taken_.clear();
  // A process that had nothing to do leaves the previous file unchanged.
  if (success && (file_ || !unwritten_.empty())) append_session_end(unwritten_, wall_time(), *success);
}

void EventLog::begin_file() {
  std::string beginning;
  append_beginning(beginning, wall_time());
  append_session_start(beginning, wall_time(), o_.parameters);
  FileDescriptor file = begin_event_file(o_.folder, std::move(beginning), o_.step, o_.epoch);
  file_.emplace(std::move(file), o_.folder.string(), o_.console, "events for TensorBoard");
}

void EventLog::write(bool last) {
  const std::lock_guard order(writing_);
  encode_waiting();
  if (unwritten_.empty()) return;
  try {
    if (!file_ && (last || Clock::now() >= next_try_)) begin_file();
    if (file_) file_->append(unwritten_);
  } catch (const std::exception& error) {
    next_try_ = Clock::now() + kPause;
    if (!std::exchange(warned_, true)) {
      o_.console.line(std::string("warning: no event file for TensorBoard yet: ") + error.what());
    }
  }
  if (unwritten_.size() <= kMostWaiting) return;
  o_.console.line("warning: " + o_.folder.string() + ": too many events wait to be written; no more are written");
  given_up_ = true;
  unwritten_ = {};
}

namespace {

void flatten(const config::Value& table, const std::string& above, config::Value& flat) {
  for (const auto& [key, value] : table.items()) {
    // `x = "name"` is short for [x] with name = "name"; it is shown in this form too.
    const std::string name = above.empty() ? key : key == "name" ? above : above + "." + key;
    if (value.is_object()) {
      flatten(value, name, flat);
    } else {
      flat[name] = value.is_array() ? config::Value(value.dump()) : value;
    }
  }
}

config::Value flat(const config::Value& table) {
  config::Value flat = config::Value::object();
  flatten(table, "", flat);
  return flat;
}

}  // namespace

config::Value hyper_parameters(const config::Experiment& experiment) {
  const config::Value defaults = flat(config::write(config::Experiment{}));
  const config::Value written = config::write(config::comparable(experiment));
  config::Value shown = config::Value::object();
  for (const auto& [key, value] : written.items()) {
    if (key == "name") continue;  // the run's name shows it
    // Only the table of a component has a name.
    const bool always = key == "seed" || (value.is_object() && value.contains("name"));
    const config::Value of_key = flat({{key, value}});
    for (const auto& [name, entry] : of_key.items()) {
      if (always || !defaults.contains(name) || defaults[name] != entry) shown[name] = entry;
    }
  }
  return shown;
}

}  // namespace ddp::tensorboard
