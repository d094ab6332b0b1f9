#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workspace.h"

namespace ddp::system_test {

// A run of kSmall that would go on for hours, saving every 5 steps, for tests that interrupt it. When it is
// made, the run has saved a few times. That a run never interrupted has the same bits is checked afterwards,
// over as many epochs as this one had time for: no test depends on how fast a machine is.
class LongRun {
 public:
  // `arguments` follow those of `run`.
  explicit LongRun(std::vector<std::string> arguments);

  Process& process() const { return *process_; }
  const RunFolder& folder() const { return folder_; }
  const Workspace& workspace() const { return workspace_; }
  // Waits for the process's end.
  Outcome finish() const { return workspace_.finish(*process_); }
  // Goes on with the run, and returns when it has done a few more steps.
  void resume_and_wait();
  // Goes on to the end of a later epoch, and compares with a run that was never interrupted.
  void check_resumes_to_the_same_bits();

 private:
  Workspace workspace_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Process> process_;
  RunFolder folder_;
};

}  // namespace ddp::system_test
