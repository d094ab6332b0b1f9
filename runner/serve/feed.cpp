#include "serve/feed.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace ddp::serve {

using config::Value;

Value change(const Value& before, const Value& after) {
  if (before.is_object() && after.is_object()) {
    Value members = Value::object();
    for (const auto& [key, value] : after.items()) {
      const auto old = before.find(key);
      if (old == before.end() || *old != value) members[key] = old == before.end() ? value : change(*old, value);
    }
    for (const auto& [key, value] : before.items()) {
      if (!after.contains(key)) members[key] = nullptr;
    }
    return members;
  }
  if (!before.is_array() || !after.is_array()) return after;
  Value at = Value::array(), items = at;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool is_new = i >= before.size();
    if (!is_new && before[i] == after[i]) continue;
    at.push_back(i);
    items.push_back(is_new ? after[i] : change(before[i], after[i]));
  }
  return {{"$length", after.size()}, {"$at", std::move(at)}, {"$items", std::move(items)}};
}

void Pace::done(Clock::time_point begin) {
  using std::chrono::milliseconds;
  const Clock::time_point end = Clock::now();
  due_ = end + std::clamp<Clock::duration>(9 * (end - begin), milliseconds(200), milliseconds(700));
}

namespace {

constexpr const char* kWritten = "written";

std::string as_line(const Value& data) { return data.dump(-1, ' ', false, Value::error_handler_t::replace); }

}  // namespace

// A page that cannot be read any more, such as that of a removed run, stays as it was, and says why.
void Feed::refresh() {
  const auto begin = Pace::Clock::now();
  if (begin < pace_.due()) return;
  std::optional<Value> fresh;
  try {
    fresh = read_();
  } catch (const std::exception& error) {
    if (version_ == 0) throw;
    fresh = data_;
    (*fresh)["problems"] = {error.what()};
  }
  pace_.done(begin);
  if (!fresh) return;
  // The time alone is no change.
  const Value written = std::exchange((*fresh)[kWritten], data_.value(kWritten, Value()));
  if (version_ > 0 && *fresh == data_) return;
  (*fresh)[kWritten] = written;
  change_ = version_ > 0 ? as_line(change(data_, *fresh)) : "";
  data_ = std::move(*fresh);
  ++version_;
  changed_.notify_all();
}

Value Feed::now() {
  const std::lock_guard lock(mutex_);
  refresh();
  return data_;
}

std::string Feed::next(std::int64_t& seen) {
  const auto end = Pace::Clock::now() + std::chrono::seconds(1);
  std::unique_lock lock(mutex_);
  for (refresh(); seen == version_; refresh()) {
    if (Pace::Clock::now() >= end) return "";
    changed_.wait_until(lock, std::min(end, pace_.due()));
  }
  const bool is_next = seen > 0 && seen == version_ - 1;
  seen = version_;
  return is_next ? change_ : as_line(data_);
}

}  // namespace ddp::serve
