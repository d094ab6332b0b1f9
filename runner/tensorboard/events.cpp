#include "tensorboard/events.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "record/liveness.h"
#include "tensorboard/event.pb.h"

namespace ddp::tensorboard {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little);

// Our records are far smaller; the length in a damaged file may be any number.
constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::size_t kHead = sizeof(std::uint64_t) + sizeof(std::uint32_t);

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * 0x82f63b78u);
    table[byte] = crc;
  }
  return table;
}

constexpr auto kTable = crc_table();

std::uint32_t masked(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

template <class Number>
void append_number(std::string& text, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

void append_record(std::string& file, std::string_view record) {
  const std::size_t begin = file.size();
  append_number(file, static_cast<std::uint64_t>(record.size()));
  append_number(file, masked(std::string_view(file).substr(begin)));
  file += record;
  append_number(file, masked(record));
}

std::optional<std::string_view> RecordReader::take(std::size_t size) {
  if (buffer_.size() - used_ < size) {
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t held = buffer_.size();
    const std::uint64_t more = std::min<std::uint64_t>(std::max(kReadAtOnce, size), file_.size() - read_);
    buffer_.resize(held + more);
    file_.read(read_, buffer_.data() + held, more);
    read_ += more;
    if (buffer_.size() < size) return {};
  }
  const auto taken = std::string_view(buffer_).substr(used_, size);
  used_ += size;
  return taken;
}

std::optional<std::string_view> RecordReader::next() {
  const auto head = take(kHead);
  if (!head) return {};
  const auto length = number_at<std::uint64_t>(*head, 0);
  const auto check = number_at<std::uint32_t>(*head, sizeof length);
  if (check != masked(head->substr(0, sizeof length)) || length > kMostBytes) return {};
  const auto body = take(length + sizeof check);
  if (!body || number_at<std::uint32_t>(*body, length) != masked(body->substr(0, length))) return {};
  return body->substr(0, length);
}

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
    for (const auto& [name, value] : point.metrics) add(summary, "train/" + name, value);
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

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kCopiedAtOnce = 1 << 20;

// Returns the event files sorted by name: TensorBoard reads them in this order.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& file : paths::entries(folder)) {
    if (file.filename().string().starts_with(kPrefix)) found.push_back(file);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the time in a file's name, or 0.
std::int64_t time_of(const fs::path& file) {
  const std::string name = file.filename().string();
  std::int64_t time = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), time);
  return time;
}

// Returns a name in the form of TensorBoard's writers. It sorts behind the folder's other files, even within a second.
std::string next_name(const std::vector<fs::path>& others) {
  std::int64_t time = std::time(nullptr);
  for (const fs::path& other : others) time = std::max(time, time_of(other) + 1);
  return std::string(kPrefix) + std::to_string(time) + "." + record::host_name() + "." + std::to_string(getpid()) +
         ".0";
}

}  // namespace

FileDescriptor begin_event_file(const fs::path& folder, std::string text, std::int64_t step, std::int64_t epoch) {
  paths::make_folders(folder);
  // TensorBoard does not find this name.
  const fs::path unfinished = folder / ".next";
  FileDescriptor file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) throw training_error("cannot be written: " + errno_text(errno), unfinished.string());
  const std::vector<fs::path> others = event_files(folder);
  for (const fs::path& other : others) {
    RecordReader reader(other);
    while (const auto record = reader.next()) {
      if (belongs(*record, step, epoch)) append_record(text, *record);
      if (text.size() < kCopiedAtOnce) continue;
      write_all(file.get(), text.data(), text.size(), unfinished.string());
      text.clear();
    }
  }
  write_all(file.get(), text.data(), text.size(), unfinished.string());
  paths::rename(unfinished, folder / next_name(others));
  // The old files are emptied and not removed: a TensorBoard that reads one moves to the next only while it exists. If
  // an old file keeps its events, TensorBoard reads it before this one, whose beginning tells readers to forget them.
  std::error_code ignored;
  for (const fs::path& other : others) fs::resize_file(other, 0, ignored);
  return file;
}

}  // namespace ddp::tensorboard
