#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "launch/process/child.h"
#include "record/run_directory.h"

namespace ddp::runs {

using Sizes = std::map<std::string, std::int64_t>;  // of files, by their names behind a folder

// A copy of a run elsewhere that follows it while it trains: [checkpoint] mirror. Throw-away children copy, one at a
// time. Training never waits for them, and a copy that fails is told, but changes nothing else.
class Mirror {
 public:
  // The copy is MIRROR/NAME/RUN-ID. An experiment without a mirror, or whose mirror is the run's own folder, has none.
  Mirror(record::RunDirectory run, const config::Experiment& experiment);

  // Begins to copy what a save has changed, unless a child copies yet: then the next one will. Between saves it copies
  // the metrics now and then, which show that the run trains. Call it regularly.
  void keep_up();
  // Copies the end of the run, and waits for it. The second signal ends the wait, or the first one if the run `stopped`
  // by a signal. Stop signals must be blocked (BlockedStopSignals).
  void finish(bool stopped);

 private:
  void begin();
  // Takes the child's answer if it comes in time.
  bool ended(std::chrono::milliseconds patience);
  void wait(bool stopped);
  void tell(const std::string& failure);

  const record::RunDirectory run_;
  std::string place_ = {};  // a folder or a URL; empty: none
  const std::int64_t retries_;
  std::optional<launch::AskedChild> child_ = {};
  std::filesystem::path seen_ = {};                   // the checkpoint that was the newest one when a child began last
  std::chrono::steady_clock::time_point begun_ = {};  // when that was
  std::string newest_ = {};                           // the newest complete checkpoint there, as far as children said
  std::string failure_ = {};                          // of the last child
};

// Throws ddp::Error (usage) if the mirror has a run of this NAME/RUN-ID: the copy of a new one would replace it. A
// server that does not answer once is no reason: the copy looks again.
void require_new_copy(const config::Experiment& experiment, const std::filesystem::path& run);

// Returns the name of the newest complete checkpoint among the files of a run; "": there is none.
std::string newest_complete(const Sizes& files);

}  // namespace ddp::runs
