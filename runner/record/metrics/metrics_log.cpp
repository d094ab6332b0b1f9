#include "record/metrics/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "record/file/atomic_file.h"
#include "record/metrics/event_reader.h"

namespace ddp::record {
namespace {

// Most bytes of lines that wait in memory while the disk takes none.
constexpr std::size_t kMostWaiting = 256u << 20;

FileDescriptor open_to_append(const std::filesystem::path& file) {
  FileDescriptor opened(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!opened) throw training_error("cannot open: " + errno_text(errno), file.string());
  return opened;
}

// Longer lines are damaged: the longest valid lines belong to a resume that changed many keys.
constexpr std::size_t kLongestKept = 16 << 20;

// Does the event belong to the run up to this point? A test does not: a resumed run is tested again.
bool belongs(const Event& event, std::int64_t step, std::int64_t epoch) {
  if (event.kind == EventKind::test) return false;
  return event.step <= step && (event.kind != EventKind::epoch || event.epoch < epoch);
}

std::string lines_up_to(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) try {
  EventReader events(file, {}, kLongestKept);
  std::string kept;
  const auto keep = [&](const Event& event) {
    if (belongs(event, step, epoch)) kept.append(events.line()).append("\n");
  };
  while (const Event* event = events.next()) keep(*event);
  // A last line without its newline may be whole.
  if (const Event* event = events.unfinished()) keep(*event);
  return kept;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where());
}

}  // namespace

void Console::line(const std::string& text) const {
  log::info(text);
  if (log::verbosity() != log::Verbosity::quiet) tell(text);
}

void Console::detail(const std::string& text) const {
  log::detail(text);
  if (log::verbosity() == log::Verbosity::verbose) tell(text);
}

void Console::tell(const std::string& text) const {
  if (pipe_ < 0) return;
  // POSIX does not mix a write of at most PIPE_BUF bytes with another rank's. If the parent is gone, nobody reads the
  // line.
  const std::string whole = text.substr(0, PIPE_BUF - 1) + "\n";
  [[maybe_unused]] const auto written = write(pipe_, whole.data(), whole.size());
}

GrowingFile::GrowingFile(FileDescriptor file, std::string name, const Console& console, std::string what)
    : file_(std::move(file)), name_(std::move(name)), console_(console), what_(std::move(what)) {}

std::string GrowingFile::append(std::string& text) {
  const off_t before = lseek(file_.get(), 0, SEEK_END);
  try {
    write_all(file_.get(), text.data(), text.size(), name_);
  } catch (const Error& error) {
    // The whole piece is written again later, behind its first part.
    if (before >= 0 && ftruncate(file_.get(), before) != 0) log::error("cannot cut off a part of " + name_);
    if (!std::exchange(failing_, true)) {
      console_.line(std::string("warning: ") + error.what() + "; its " + what_ + " are kept and written later");
    }
    return error.what();
  }
  text.clear();
  if (std::exchange(failing_, false)) console_.line(name_ + ": can be written again, and is complete");
  return "";
}

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
  // A fault that passes, such as one EIO, must not end a run: the second attempt decides.
  if (write_waiting().empty()) return;
  if (const std::string failure = write_waiting(); !failure.empty()) throw training_error(failure);
}

std::string MetricsLog::write_waiting() {
  const std::lock_guard order(writing_);
  {
    const std::lock_guard lock(mutex_);
    // While writes fail, new lines wait in waiting_, where append() counts them.
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
  // At least once: lines that were appended after the last look must be written, even if the thread never looked
  // before.
  for (bool last = false; !last;) {
    wake_.wait_for(lock, std::chrono::milliseconds(400), [this] { return closing_; });
    last = closing_;
    lock.unlock();
    write_waiting();
    lock.lock();
  }
}

void append_line(const std::filesystem::path& file, const std::string& line) {
  const FileDescriptor opened = open_to_append(file);
  write_all(opened.get(), line.data(), line.size(), file.string());
}

void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return;
  if (error) throw usage_error("cannot be read: " + error.message(), file.string());
  if (!std::filesystem::is_regular_file(status)) throw usage_error("is not a regular file", file.string());
  write_atomically(file, lines_up_to(file, step, epoch));
}

}  // namespace ddp::record
