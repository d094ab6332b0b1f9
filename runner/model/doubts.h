#pragma once

#include <string>
#include <vector>

namespace ddp::model {

// The second base class of a module that may train differently from what its user expects.
struct HasDoubts {
  virtual ~HasDoubts() = default;
  // Warnings for the user, before training on so many ranks; one line each.
  virtual std::vector<std::string> doubts(int ranks) const = 0;
  // Says which of several outputs goes to the loss; "" if the model has one output.
  virtual std::string outputs_without_loss() const { return ""; }
};

}  // namespace ddp::model
