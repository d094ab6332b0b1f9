#pragma once

#include <utility>

#include "config/value.h"

namespace ddp::datasets {

// Where a transform tells what it draws, by the names that v2's make_params gives it; it tells nothing where nobody
// listens.
class Told {
 public:
  Told() = default;
  explicit Told(config::Value& listener) : listener_(&listener) {}

  template <class T>
  void operator()(const char* name, T&& value) const {
    if (listener_) (*listener_)[name] = std::forward<T>(value);
  }
  bool is_heard() const { return listener_ != nullptr; }

 private:
  config::Value* listener_ = nullptr;
};

}  // namespace ddp::datasets
