#pragma once

#include <memory>

#include "workspace.h"

namespace ddp::system_test {

// A run of kSmall that would take hours and saves every 5 steps, for tests that interrupt it. On construction it has
// saved a few times. The check of its bits compares it afterwards with an uninterrupted run of as many epochs as it
// reached: no test depends on how fast a machine is.
class LongRun {
 public:
  // `arguments` follow the arguments of `run`.
  explicit LongRun(Words arguments);

  Process& process() const { return *process_; }
  const RunFolder& folder() const { return folder_; }
  const Workspace& workspace() const { return workspace_; }
  // Waits for the process's end.
  Outcome finish() const { return workspace_.finish(*process_); }
  // The same, and requires this exit code, these texts on stderr, and that no process is left.
  Outcome ends(int code, const Words& said = {}) const { return workspace_.ends(code, *process_, said); }
  Outcome stop() const { return workspace_.stop(*process_); }
  // Resumes the run, and returns when it has done a few more steps.
  void resume_and_wait();
  // Resumes the run to the end of a later epoch, and compares it with an uninterrupted run.
  void check_resumes_to_the_same_bits();

 private:
  Workspace workspace_;
  Words arguments_;
  std::unique_ptr<Process> process_;
  RunFolder folder_;
};

}  // namespace ddp::system_test
