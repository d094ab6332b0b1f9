#include "launch/run/fork_files.h"

#include "launch/run/run_summary.h"
#include "record/file/atomic_file.h"
#include "record/metrics/event_lines.h"
#include "record/saves/checkpoint_copy.h"

namespace ddp::launch {
namespace fs = std::filesystem;

fs::path write_fork(const Fork& fork, const Plan& plan, const record::RunDirectory& directory) try {
  const fs::path copy = record::copy_checkpoint(fork.checkpoint, directory.checkpoints());
  const record::Position& at = fork.position;
  const record::ResumeRecord begin{.epoch = at.epoch,
                                   .step = at.step,
                                   .checkpoint = copy,
                                   .world_size = plan.world_size(),
                                   .changes = fork.changes,
                                   .origin = fork.origin};
  record::write_atomically(directory.metrics(), record::to_line(begin, at.seconds));
  record::Summary summary = summary_of(plan, {});
  summary.origin = fork.origin;
  summary.launch = fork.launch_id;
  record::write_summary(directory, summary);
  return copy;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

}  // namespace ddp::launch
