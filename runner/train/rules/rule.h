#pragma once

#include "config/option/option.h"

namespace ddp::train {

// A rule that a run follows from step to step, such as the loss scale of fp16, the learning rate of a plateau schedule,
// or the patience of a stop. Its state is a few numbers, which state.json keeps under the rule's name.
class Rule {
 public:
  virtual ~Rule() = default;
  // Returns the state as a JSON object, the same on every rank.
  virtual config::Value state() const = 0;
  // Restores the state. The argument is untrusted input. Throws std::runtime_error if it is damaged.
  virtual void restore(const config::Value& state) = 0;
};

}  // namespace ddp::train
