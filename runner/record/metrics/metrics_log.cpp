#include "record/metrics/metrics_log.h"

#include <fcntl.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/text/json_text.h"
#include "record/file/atomic_file.h"

namespace ddp::record {

namespace {

// More lines than this are not kept in memory for a disk that takes none.
constexpr std::size_t kMostWaiting = 256u << 20;

FileDescriptor open_to_append(const std::filesystem::path& file) {
  FileDescriptor opened(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!opened) throw training_error("cannot open: " + errno_text(errno), file.string());
  return opened;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& file, const Console& console)
    : name_(file.string()), file_(open_to_append(file), name_, console, "lines") {
  writer_ = std::thread(&MetricsLog::write_in_background, this);
}

MetricsLog::~MetricsLog() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  writer_.join();
}

void MetricsLog::append(const std::string& line) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() > kMostWaiting) throw training_error("too many lines wait to be written", name_);
  waiting_ += line;
}

void MetricsLog::flush() {
  if (const std::string failure = write_waiting(); !failure.empty()) throw training_error(failure);
}

std::string MetricsLog::write_waiting() {
  const std::lock_guard order(writing_);
  {
    const std::lock_guard lock(mutex_);
    // While it fails, lines wait where append() counts them.
    if (unwritten_.empty()) unwritten_.swap(waiting_);
  }
  while (!unwritten_.empty()) {
    if (std::string failure = file_.append(unwritten_); !failure.empty()) return failure;
    const std::lock_guard lock(mutex_);
    unwritten_.swap(waiting_);
  }
  return "";
}

void MetricsLog::write_in_background() {
  std::unique_lock lock(mutex_);
  // At least once: what came between the last look and the end must not stay, also where there was no first look.
  for (bool last = false; !last;) {
    wake_.wait_for(lock, std::chrono::milliseconds(400), [this] { return closing_; });
    last = closing_;
    lock.unlock();
    write_waiting();
    lock.lock();
  }
}

namespace {

// Takes `text` and the number behind it off the front of a line.
std::optional<std::int64_t> take_number(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) return {};
  line.remove_prefix(text.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) return {};
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return number;
}

// The step of a line as a step's is written; nothing where it is another, or none. Nearly all lines are of steps, there
// may be millions, and a run that restarts waits for this: a look at the line takes a third of reading it.
std::optional<std::int64_t> step_of_line(const std::string& line) {
  std::string_view rest = line;
  if (!take_number(rest, "{\"event\":\"step\",\"epoch\":")) return {};
  const auto step = take_number(rest, ",\"step\":");
  if (!step || (!rest.starts_with(',') && !rest.starts_with('}'))) return {};
  return nlohmann::json::accept(line) ? step : std::nullopt;
}

// Does a line of metrics.jsonl belong to what a run has done up to there? What is no line of ours does not.
bool belongs(const std::string& line, std::int64_t step, std::int64_t epoch) {
  if (const auto of_step = step_of_line(line)) return *of_step <= step;
  try {
    const auto event = config::parse_json(line);
    if (event.contains("step") && config::count_member(event, "step") > step) return false;
    return config::text_member(event, "event") != "epoch" || config::count_member(event, "epoch") < epoch;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return;
  if (error) throw usage_error("cannot be read: " + error.message(), file.string());
  // Who opens a pipe waits.
  if (!std::filesystem::is_regular_file(status)) throw usage_error("is not a regular file", file.string());
  std::ifstream in(file);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (belongs(line, step, epoch)) kept += line + '\n';
  }
  if (in.bad() || !in.eof()) throw usage_error("cannot be read", file.string());
  write_atomically(file, kept);
}

}  // namespace ddp::record
