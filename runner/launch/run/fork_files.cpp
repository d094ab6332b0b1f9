#include "launch/run/fork_files.h"

#include "launch/run/run_summary.h"
#include "record/file/atomic_file.h"
#include "record/metrics/json_line.h"
#include "record/saves/checkpoint_copy.h"

namespace ddp::launch {
namespace fs = std::filesystem;

fs::path write_fork(const Fork& fork, const Plan& plan, const record::RunDirectory& directory) try {
  const fs::path copy = record::copy_checkpoint(fork.checkpoint, directory.checkpoints());
  const record::Position& at = fork.position;
  record::write_atomically(
      directory.metrics(),
      record::JsonLine("resume")
          .add("epoch", at.epoch)
          .add("step", at.step)
          .add("checkpoint", std::string_view("checkpoints/" + copy.filename().string()))
          .add("world_size", std::int64_t{plan.world_size()})
          .add_json("changes", fork.changes)
          .add_json("origin",
                    record::to_json(fork.origin).dump(-1, ' ', false, config::Value::error_handler_t::replace))
          .add("seconds", at.seconds)
          .finish());
  record::Summary summary = summary_of(plan, {});
  summary.origin = fork.origin;
  summary.launch = fork.launch_id;
  record::write_summary(directory, summary);
  return copy;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

}  // namespace ddp::launch
