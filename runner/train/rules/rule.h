#pragma once

#include "config/option/option.h"

namespace ddp::train {

// A rule that a run follows from step to step and whose memory is a few numbers, such as the loss scale of fp16, the
// learning rate of a plateau schedule, or the patience of a stop. state.json keeps them under the rule's name.
class Rule {
 public:
  virtual ~Rule() = default;
  // Returns the numbers as a JSON object. They are the same on every rank.
  virtual config::Value state() const = 0;
  // Takes the numbers back. They are data from outside. Throws std::runtime_error where they are damaged.
  virtual void restore(const config::Value& state) = 0;
};

}  // namespace ddp::train
