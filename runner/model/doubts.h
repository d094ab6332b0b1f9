#pragma once

#include <string>
#include <vector>

namespace ddp::model {

// The second base class of a module that may train differently from what its user expects.
struct HasDoubts {
  virtual ~HasDoubts() = default;
  // Warnings for the user, before training; one line each.
  virtual std::vector<std::string> doubts() const = 0;
  // Says which of several outputs goes to the loss; "" if the model has one output.
  virtual std::string outputs_without_loss() const { return ""; }
};

}  // namespace ddp::model
