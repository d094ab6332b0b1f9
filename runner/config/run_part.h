#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/length.h"
#include "config/value.h"

namespace ddp::config {

// A part of a run as an experiment file gives it: steps (an integer, or "200 steps"), epochs ("10 epochs"), or a share
// of the run's steps ("5%").
struct RunPart {
  enum class Unit { steps, epochs, share };
  double amount = 0;  // of a share: in percent
  Unit unit = Unit::steps;

  // Returns the optimizer steps that it is of a run of this length: rounded half up, at least 1. An epoch has today's
  // steps_per_epoch, also where the run was begun with other ranks. Throws ddp::Error (usage), which names `key`, where
  // it counts epochs and the run's dataset has none.
  std::int64_t steps_of(const Length& run, const std::string& key) const;
};

// Nothing where the text has another form, is 0, or is more than the run (100%).
std::optional<RunPart> read_run_part(const std::string& text);

// Does the value count epochs?
bool counts_epochs(const Value& value);

// The steps of a value that was checked: an integer, which is as it is, or a text. Throws ddp::Error (usage) where it
// is neither, and as RunPart::steps_of() does.
std::int64_t steps_of(const Value& value, const Length& run, const std::string& key);

}  // namespace ddp::config
