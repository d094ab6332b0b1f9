#pragma once

#include "launch/run/forked_run.h"
#include "launch/watch/supervisor.h"
#include "record/saves/return_point.h"

namespace ddp::launch {

// Restarts of a run's ranks after one of them has failed, up to --max-restarts, and their preparation.
class Restarts {
 public:
  // Also counts the restarts in `summary`.
  Restarts(ForkedRun& forked, record::Summary& summary);

  // Returns whether to restart a group that ended with this outcome. If all restarts are used up, the failure says so.
  bool wanted(Outcome& outcome, record::SharedProgress& shared) const;

  // Goes back to the newest complete checkpoint, in the same run directory, and makes a new meeting point. `run`: the
  // progress of the failed ranks. Call it when no rank runs. Returns false if a restart is impossible; the failure then
  // says why.
  bool prepare(Outcome& outcome, const record::RunProgress& run);

  int used() const { return used_; }
  // The point from which the next ranks start after a restart.
  const record::ReturnPoint& point() const { return point_; }

 private:
  // Throws ddp::Error (training) if the data files have changed since the run began.
  void require_same_data() const;
  void note(const record::Failure& failure);

  ForkedRun& forked_;
  record::Summary& summary_;
  const int most_;
  const std::filesystem::path weights_;  // if the run starts over
  int used_ = 0;
  record::ReturnPoint point_;
};

}  // namespace ddp::launch
