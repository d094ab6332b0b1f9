#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "config/experiment.h"

namespace ddp::runs {

// A run or a sweep at its end, as summary.json describes it.
struct EndedRun {
  std::filesystem::path folder;
  std::string name;  // of the experiment
  std::string status;
  std::string reason = {};  // the text of its error; empty: none
};

// The patience with a command.
inline constexpr std::chrono::seconds kLongestNotification{30};

// Runs notify.command, if there is one, with the ended run in its environment, and waits for it. A command that takes
// longer is killed, and so is one during which the user stops this process again. A command that fails is only a
// warning. This process must have one thread.
void notify(const config::Notify& notify, const EndedRun& run,
            std::chrono::milliseconds patience = kLongestNotification);

}  // namespace ddp::runs
