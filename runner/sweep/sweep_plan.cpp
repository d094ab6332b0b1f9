#include "sweep/sweep_plan.h"

#include "base/own_command.h"
#include "base/shell_word.h"
#include "launch/probe/changed_model.h"
#include "record/saves/data_files.h"

namespace ddp::sweep {

void SweepPlan::require_same_data(const std::filesystem::path& checkpoint, const config::Experiment& trial) const {
  const std::vector<record::DataFile> now = record::data_files(trial);
  launch::require_fitting_weights(checkpoint, trial, now, own_command("sweep " + path_word(directory.sweep())));
  if (!data_changed) record::require_same_data(checkpoint, now, {}, accepting_command);
}

}  // namespace ddp::sweep
