#include "runs/standing.h"

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "runs/prepare.h"
#include "runs/train.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// Reports that the run has ended, and brings its summary and checkpoints up to date.
void tell_nothing_to_do(const ResumePoint& point, const record::RunDirectory& directory) {
  const std::string step = std::to_string(point.position.step);
  const std::string rule = point.ended_by_rule();
  if (!rule.empty()) {
    log::info("nothing to do: this run has ended after step " + step + ", by stop." + rule + "; continue it with " +
              point.weaker_rule());
  } else {
    log::info("nothing to do: this run has done its " + step + " steps; train for longer with " + point.longer_run());
  }
  runs::settle(point.prepared.plan, directory, point.position);
  // A kill after the last save may have left checkpoints that should have been removed.
  const auto& keep = point.prepared.plan.experiment.checkpoint;
  record::remove_unfinished(directory.checkpoints());
  record::retain(directory.checkpoints(), keep.keep_last, keep.keep_best);
}

// The folder of a run has its name: another name takes another folder.
void require_same_name(const Resumption& r, const ResumePoint& point) {
  const config::Loaded& loaded = point.prepared.loaded;
  // The first checkpoint of a fork may have its origin's name.
  const bool is_of_folder = loaded.experiment.name == r.directory.path().parent_path().filename();
  if (!point.changes.contains("name") || is_of_folder) return;
  std::vector<std::string> others = r.sets;
  std::erase_if(others, [](const std::string& set) { return set.substr(0, set.find_first_of("= ")) == "name"; });
  const std::string fork =
      own_command("fork " + path_word(r.directory.path()) + " --name " + shell_word(loaded.experiment.name));
  throw loaded.error("name", "a run keeps its name: its folder is " + r.directory.path().string(),
                     "start a run of another name from its checkpoint: " + with_sets(fork, others));
}

// Another number of ranks adds in another order.
void require_same_ranks(const Resumption& r, const launch::Plan& plan) {
  if (r.compared_ranks == 0 || r.compared_ranks == plan.logical_ranks()) return;
  throw usage_error(
      "its bits take " + std::to_string(r.compared_ranks) + " ranks, and these are " +
          std::to_string(plan.logical_ranks()),
      r.directory.path().string(),
      "give as many devices (--device-pool); a run with logical_ranks = N has the same bits on any number");
}

// A kill after the last save leaves the sets unmeasured: only the measurements are still to do.
bool is_measured(const ResumePoint& point, const record::RunDirectory& directory) {
  const config::Experiment& e = point.prepared.plan.experiment;
  const config::Value summary = record::last_summary(directory);
  if ((!e.validation.exists() && !e.test.exists()) || summary.value("status", config::Value()) == "completed") {
    return true;
  }
  std::error_code none;
  const bool has_test = !e.test.exists() || !summary.value("test", config::Value()).is_null();
  return has_test && fs::exists(directory.evaluation(), none);
}

}  // namespace

std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch) {
  if (!run_id.empty()) {
    record::RunDirectory own(fs::path(results) / name / run_id);
    return own.begun() ? std::optional(own) : std::nullopt;
  }
  if (launch.attempt == 0 || launch.id.empty()) return {};
  return runs::find_launched(fs::path(results) / name, launch.id);
}

runs::OpenRun create_run(const std::string& results, const std::string& name, const std::string& run_id,
                         const record::TagChange& tags) {
  runs::OpenRun run{.directory = record::RunDirectory::create(results, name, run_id), .lock = {}, .start = {}};
  run.lock = run.directory.lock();
  if (run.directory.begun()) throw usage_error("another process has begun this run", run.directory.path().string());
  try {
    if (!tags.empty()) record::change_tags(run.directory, tags);
  } catch (const Error&) {
    run.directory.discard();
    throw;
  }
  return run;
}

int resume_run(const Resumption& r, const launch::Launch& launch, launch::Nodes* nodes) {
  FileDescriptor lock;
  if (launch.leads()) lock = r.directory.lock();
  const ResumePoint point = find_resume_point(r, launch);
  require_same_name(r, point);
  require_same_ranks(r, point.prepared.plan);
  // After a restart by the launcher the folder is not printed again.
  const auto print_once = [&](const record::RunDirectory& directory) {
    if (launch.attempt == 0 && r.show) r.show(directory);
  };
  if (point.nothing_to_do() && is_measured(point, r.directory)) {
    if (!launch.leads()) return 0;
    print_once(r.directory);
    tell_nothing_to_do(point, r.directory);
    if (nodes != nullptr) nodes->end(0, "");
    return 0;
  }
  const auto go_back = [&] {
    tell_what_goes(r, point);
    if (!point.changes.empty()) {
      record::keep_settings(r.directory, experiment_before(r.directory.config(), point.prepared.plan.experiment));
    }
    if (point.begun()) record::accept_data(point.checkpoint, point.prepared.data.files());
    record::go_back(r.directory,
                    {.checkpoint = point.checkpoint, .position = point.position, .finished = point.nothing_to_do()});
    point.tell_changes();
    return runs::OpenRun{.directory = r.directory,
                         .lock = std::move(lock),
                         .start = point.prepared.start,
                         .resumed = true,
                         .changes = point.changes_as_text()};
  };
  return runs::train({.plan = point.prepared.plan,
                      .library = *point.prepared.library,
                      .data = point.prepared.data,
                      .open = go_back,
                      .experiment_folder = paths::working_folder(),
                      .begun = print_once,
                      .until_step = r.until_step},
                     nodes);
}

}  // namespace ddp::runs
