#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "launch/cluster/guest.h"
#include "launch/cluster/job.h"
#include "launch/cluster/nodes.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "runs/standing.h"

namespace ddp::runs {

// A checked experiment: it can be trained here.
struct Prepared {
  Standing standing;
  launch::Plan plan = {};
  std::unique_ptr<launch::RankLibrary> library = nullptr;
  launch::HeldData data = {};
  rank::Probe probe = {};
  config::Length length = {};
  std::vector<std::string> warnings = {};  // one per line
};

// Plans the ranks, loads the rank library, and tries model and data. Prints the warnings in the process of rank 0.
// Throws ddp::Error (usage) before anything starts. `standing`: its settings, and its checkpoint if it has one.
// `global_batch_size`: of the run until now; nothing: the file's. `use`: use of the data; only if this process forks
// all ranks.
Prepared prepare(Standing standing, const launch::Launch& launch, std::optional<std::int64_t> global_batch_size = {},
                 const launch::DataUse& use = {});

// Tries the prepared experiment (launch::probe). `timed`: also for the time of a step.
rank::Probe probed(const Prepared& prepared, bool timed);

// Returns the refusal of a throw-away child with the place of the key that caused it, if a key did.
Error at_its_line(const config::Loaded& loaded, const Error& error);

// Returns what `ask` returns, which asks a throw-away child. A refusal names the line that caused it.
template <class Ask>
auto with_lines(const config::Loaded& loaded, const Ask& ask) try {
  return ask();
} catch (const Error& error) {
  throw error.fault() == Fault::usage ? at_its_line(loaded, error) : error;
}

// How long nodes wait for each other: distributed.timeout.
std::chrono::milliseconds patience_of(const config::Experiment& experiment);

// On another node: trains the experiment that node 0 sends. If this node cannot see node 0's sources, it uses the
// sources of its own `sets`. Returns the program's exit code. Throws ddp::Error on failure.
int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::vector<std::string>& sets);

}  // namespace ddp::runs
