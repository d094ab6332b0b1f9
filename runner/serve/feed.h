#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "config/option/value.h"

namespace ddp::serve {

// Returns what makes `before` into `after`, as page/live.js merges it: of an object its changed members, null for one
// that has gone; of an array {"$length": 3, "$at": [2], "$items": [0.5]}; any other value itself.
config::Value change(const config::Value& before, const config::Value& after);

// The pauses between repetitions of some work: from 0.2 to 0.7 s, so long that the work takes a tenth of one core.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  Clock::time_point due() const { return due_; }
  // Call it after the work that began at `begin`.
  void done(Clock::time_point begin);

 private:
  Clock::time_point due_ = {};
};

// The data of one page, and their changes for everyone who looks at it: they are read once for all viewers, and only
// while there are any. Any thread may call it.
class Feed {
 public:
  // Returns the data of the page; nothing: they have not changed. Throws ddp::Error if they cannot be read.
  using Read = std::function<std::optional<config::Value>()>;

  explicit Feed(Read read) : read_(std::move(read)) {}

  // Returns the newest data. Throws what the first read throws.
  config::Value now();

  // Waits up to a second for data that are newer than `seen`, and moves `seen` to them. Returns what makes the data of
  // `seen` into them, as JSON; for seen = 0 all data. Empty: there are none.
  std::string next(std::int64_t& seen);

 private:
  void refresh();

  const Read read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Pace pace_;
  std::int64_t version_ = 0;  // 0: never read
  config::Value data_ = config::Value::object();
  std::string change_;  // from the version before
};

}  // namespace ddp::serve
