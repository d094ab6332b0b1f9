#include "launch/probe/changed_model.h"

#include "base/error.h"
#include "launch/library/rank_library.h"
#include "rank/check.h"
#include "record/saves/model_files.h"

namespace ddp::launch {

void require_fitting_weights(const std::filesystem::path& checkpoint, const config::Experiment& experiment,
                             const std::vector<record::DataFile>& now, const std::string& anew) {
  const auto changed = record::model_difference(record::files_of_checkpoint(checkpoint), now);
  if (changed.path.empty()) return;
  rank::Task task;
  task.experiment = &experiment;
  const RankLibrary library(/*gpus=*/false, experiment.components().plugin());
  const rank::CheckRequest request{.weights = checkpoint / "model.safetensors"};
  std::string misfit;
  try {
    misfit = library.ask("comparing the model with the checkpoint", task, request).misfit;
  } catch (const Error& error) {
    if (error.where() != changed.path) throw;
    throw usage_error(error.summary(), error.where(), "put the file back that the checkpoint was trained with");
  }
  if (misfit.empty()) return;
  throw usage_error(
      changed.what + ", and the weights of the checkpoint do not fit it:\n  " + checkpoint.string() + ": " + misfit,
      changed.path, "put the former file back, or train this one from the start: " + anew);
}

}  // namespace ddp::launch
