#include "record/metrics_log.h"

#include <fcntl.h>
#include <cerrno>
#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "config/json_text.h"
#include "record/atomic_file.h"

namespace ddp::record {

MetricsLog::MetricsLog(const std::filesystem::path& file)
    : name_(file.string()), file_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_) throw training_error("cannot open: " + errno_text(errno), name_);
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
  waiting_ += line;
}

void MetricsLog::flush() {
  std::unique_lock lock(mutex_);
  write_waiting(lock);
  if (!failure_.empty()) throw training_error(std::exchange(failure_, ""));
}

void MetricsLog::write_waiting(std::unique_lock<std::mutex>&) {
  if (waiting_.empty()) return;
  try {
    write_all(file_.get(), waiting_.data(), waiting_.size(), name_);
  } catch (const Error& error) {
    if (failure_.empty()) log::error(error.what());
    failure_ = error.what();
  }
  waiting_.clear();
}

void MetricsLog::write_in_background() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    wake_.wait_for(lock, std::chrono::milliseconds(400), [this] { return closing_; });
    write_waiting(lock);
  }
  // What came between the last look and the end, also where this thread had no time for a first one.
  write_waiting(lock);
}

namespace {

// Does a line of metrics.jsonl belong to what a run has done up to there? What is no line of ours does not.
bool belongs(const std::string& line, std::int64_t step, std::int64_t epoch) {
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
  if (!std::filesystem::exists(file)) return;
  // Who opens a pipe waits.
  if (!std::filesystem::is_regular_file(file)) throw usage_error("is not a regular file", file.string());
  std::ifstream in(file);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (belongs(line, step, epoch)) kept += line + '\n';
  }
  if (in.bad() || !in.eof()) throw usage_error("cannot be read", file.string());
  write_atomically(file, kept);
}

}  // namespace ddp::record
