#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/length.h"
#include "config/value.h"

namespace ddp::config {

// A part of a run in an experiment file: steps (an integer, or "200 steps"), epochs ("10 epochs"), or a share of the
// run's steps ("5%").
struct RunPart {
  enum class Unit { steps, epochs, share };
  double amount = 0;  // percent for a share
  Unit unit = Unit::steps;

  // Returns this part of a run of the given length in optimizer steps, rounded half up, at least 1. Epochs are
  // converted with the current steps_per_epoch, even if the run began with another world size. Throws ddp::Error
  // (usage) that names `key` if the part counts epochs and the dataset has none.
  std::int64_t steps_of(const Length& run, const std::string& key) const;
};

// Returns nothing if the text has another form, is 0, or is more than the run (100%).
std::optional<RunPart> read_run_part(const std::string& text);

// Does the value count epochs?
bool counts_epochs(const Value& value);

// Returns the steps of a checked value: an integer is a number of steps, a text is read as a RunPart. Throws ddp::Error
// (usage) for any other value, and if RunPart::steps_of() throws.
std::int64_t steps_of(const Value& value, const Length& run, const std::string& key);

}  // namespace ddp::config
