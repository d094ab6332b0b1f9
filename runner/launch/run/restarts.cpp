#include "launch/run/restarts.h"

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/shell_word.h"
#include "launch/probe/changed_model.h"
#include "launch/run/run_summary.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/metrics_log.h"
#include "record/saves/data_files.h"
#include "record/saves/model_files.h"
#include "record/saves/whole_checkpoint.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

std::string count(int restarts) { return std::to_string(restarts) + (restarts == 1 ? " restart" : " restarts"); }

}  // namespace

Restarts::Restarts(ForkedRun& forked, record::Summary& summary)
    : forked_(forked), summary_(summary), most_(forked.launch.max_restarts), weights_(forked.run.start.init_from) {}

bool Restarts::wanted(Outcome& outcome, record::SharedProgress& shared) const {
  // If no rank is to blame, a machine or the network between machines failed.
  if (!outcome.failure || outcome.failure->rank < 0 || outcome.stop_signal != 0 || most_ == 0) return false;
  for (int r = 0; r < shared.ranks(); ++r) {
    if (shared.rank(r).no_restart) return false;
  }
  if (used_ < most_) return true;
  outcome.failure->what += " (after " + count(used_) + ", as many as --max-restarts allows)";
  return false;
}

bool Restarts::prepare(Outcome& outcome, const record::RunProgress& run) try {
  OpenRun& opened = forked_.run;
  point_ = {.checkpoint = record::newest_whole(opened.directory.checkpoints())};
  if (!point_.checkpoint.empty()) point_.position = record::position_of(point_.checkpoint);
  point_.finished = (run.steps_in_all > 0 && point_.position.step >= run.steps_in_all) ||
                    has_ended(forked_.training.plan.experiment, point_.position);
  if (point_.checkpoint.empty() && !opened.start.resume_from.empty()) {
    throw training_error("the checkpoints that it resumed from are gone", opened.directory.checkpoints().string());
  }
  require_same_data();
  record::go_back(opened.directory, point_);
  opened.start = {.resume_from = point_.checkpoint, .init_from = point_.checkpoint.empty() ? weights_ : fs::path()};
  // The old meeting point is released first: the new one may have the same address.
  forked_.meeting = {};
  forked_.meeting = make_meeting_point(forked_.training.plan, forked_.launch, forked_.nodes.own_ip());
  note(*outcome.failure);
  return true;
} catch (const Error& error) {
  outcome.failure->what += "\n  and the ranks cannot be started again: " + std::string(error.what());
  return false;
}

// Data that were read into memory before the first start stay valid even if their files change.
void Restarts::require_same_data() const {
  const Training& t = forked_.training;
  if (point_.checkpoint.empty()) return;
  const auto changed = t.plan.holds_data
                           ? record::model_difference(t.data.files(), record::model_files(t.plan.experiment))
                           : record::data_difference(t.data.files(), record::data_files(t.plan.experiment));
  if (changed.path.empty()) return;
  require_fitting_weights(point_.checkpoint, t.plan.experiment, record::model_files(t.plan.experiment),
                          own_command("run " + path_word(forked_.run.directory.config())));
  throw training_error(changed.what, changed.path,
                       "restore the files that the run was trained with, or continue with these: " +
                           own_command("resume " + path_word(forked_.run.directory.path()) + " --data-changed"));
}

void Restarts::note(const record::Failure& failure) {
  const auto& at = point_.position;
  ++used_;
  ++summary_.restarts;
  record::write_summary(forked_.run.directory, summary_);
  const record::RestartRecord restart{.epoch = at.epoch,
                                      .step = at.step,
                                      .restart = summary_.restarts,
                                      .rank = failure.rank,
                                      .cause = failure.what,
                                      .checkpoint = point_.checkpoint};
  // The ranks that wrote metrics.jsonl have ended.
  record::append_line(forked_.run.directory.metrics(), record::to_line(restart, at.seconds));
  const std::string from = point_.checkpoint.empty() ? "the start: nothing is saved yet"
                                                     : "after step " + std::to_string(at.step) + ", from " +
                                                           record::name_in_run(point_.checkpoint);
  log::warn(in_words(failure, forked_.run.directory, summary_) + "\n  restart " + std::to_string(used_) + " of " +
            std::to_string(most_) + ": all ranks start again " + from);
}

}  // namespace ddp::launch
