#include "record/metrics/metrics_log.h"

#include <fcntl.h>
#include <cerrno>
#include <chrono>

#include "base/error.h"

namespace ddp::record {
namespace {

// Most bytes of lines that wait in memory while the disk takes none.
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

}  // namespace ddp::record
