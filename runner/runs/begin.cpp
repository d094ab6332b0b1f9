#include "runs/begin.h"

#include "base/log.h"
#include "runs/changes.h"
#include "runs/resume.h"
#include "runs/train.h"

namespace ddp::runs {
namespace {

// A restarted launch goes on: its run must not end in the night because the file was edited for the next run.
void tell_other_settings(const Error& error, const launch::Launch& launch) {
  if (!launch.restarted()) throw error;
  if (launch.leads()) log::warn(std::string(error.what()) + "\n  the run goes on as it is");
}

}  // namespace

int begin(const BeginRequest& r, config::Loaded loaded, const launch::Launch& launch, launch::Nodes* nodes) {
  if (const auto begun = begun_run(r.results, r.run_id, loaded.experiment.name, launch)) {
    if (const auto other = other_settings(loaded, *begun, r.sets)) tell_other_settings(*other, launch);
    return resume({.directory = *begun, .results = r.results, .sets = r.sets, .show = r.show}, launch, nodes);
  }
  if (launch.leads()) launch::find_weights(loaded, r.results);
  Prepared p = prepare({.loaded = std::move(loaded)}, launch);
  return train({.standing = p.standing,
                .plan = p.plan,
                .library = *p.library,
                .data = p.data,
                .open = [&](Standing& s) { create(s, r.results, p.plan.experiment.name, r.run_id, r.tags); },
                .experiment_folder = r.folder,
                .begun = r.show,
                .profile_steps = r.profile_steps},
               nodes);
}

}  // namespace ddp::runs
