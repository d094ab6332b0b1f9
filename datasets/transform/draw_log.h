#pragma once

#include <utility>

#include "config/value.h"

namespace ddp::datasets {

// Receives the random values of a transform, under the names of v2's make_params, and stores them in the listener.
// Without a listener it drops them.
class DrawLog {
 public:
  DrawLog() = default;
  explicit DrawLog(config::Value& listener) : listener_(&listener) {}

  template <class T>
  void operator()(const char* name, T&& value) const {
    if (listener_) (*listener_)[name] = std::forward<T>(value);
  }
  bool has_listener() const { return listener_ != nullptr; }

 private:
  config::Value* listener_ = nullptr;
};

}  // namespace ddp::datasets
