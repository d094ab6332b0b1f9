#pragma once

#include "launch/run/forked_run.h"
#include "launch/watch/supervisor.h"
#include "record/saves/return_point.h"

namespace ddp::launch {

// How often a run's ranks may be started again after one of them has failed (--max-restarts), and what that takes.
class Restarts {
 public:
  // Counts in `summary` too.
  Restarts(ForkedRun& forked, record::Summary& summary);

  // Is the group that ended so to be started again? Where all restarts are used up, the failure says so.
  bool wanted(Outcome& outcome, record::ProgressPage& page) const;

  // Goes back to the newest checkpoint that is whole, in the same run directory, and sees to it that the next ranks
  // find each other. `run` is how far those before came. To be called when no rank runs any more. False: it cannot, and
  // the failure says why.
  bool prepare(Outcome& outcome, const record::RunProgress& run);

  int used() const { return used_; }
  // Where the ranks begin that are started next, after a restart.
  const record::ReturnPoint& point() const { return point_; }

 private:
  // Throws ddp::Error (training) where the files of the data have changed since the run began.
  void require_same_data() const;
  void note(const record::Failure& failure);

  ForkedRun& forked_;
  record::Summary& summary_;
  const int most_;
  const std::filesystem::path weights_;  // of a run that starts over
  int used_ = 0;
  record::ReturnPoint point_;
};

}  // namespace ddp::launch
