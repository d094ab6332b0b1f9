#include "commands/train/resume.h"

#include <memory>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/sweep/sweep.h"
#include "commands/train/prepare.h"
#include "launch/library/plugin.h"
#include "launch/run/train.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/retention.h"
#include "record/summary.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct ResumeOptions {
  std::string run;
  std::vector<std::string> sets;
  std::string results = "results";
  std::string from = "latest";
  bool data_changed = false;
  launch::LaunchFlags flags;
  std::optional<int> jobs;  // for a sweep
};

// A sweep's trials are runs of one node each; only a single trial can be launched in another way.
int go_on_with_sweep(const record::RunDirectory& directory, const ResumeOptions& o, const launch::Launch& launch) {
  if (launch.nodes > 1 || launch.one_rank || o.from != "latest" || launch.max_restarts > 0) {
    throw usage_error("a sweep resumes from where it stopped, without --from, --max-restarts and launch flags",
                      directory.path().string(), "a single trial accepts them: name it by its folder");
  }
  if (!o.sets.empty()) {
    throw usage_error("a sweep keeps its settings: with others its trials could not be compared",
                      directory.path().string(), "begin another one: " + own_command("sweep FILE --set …"));
  }
  return resume_sweep(directory, o.jobs, o.data_changed);
}

int resume(const ResumeOptions& o) {
  launch::Launch launch = launch::choose_launch(o.flags);
  const config::Value terms = launch::terms_of(
      launch, "resume", {{"run", o.run}, {"set", o.sets}, {"from", o.from}, {"data-changed", o.data_changed}});
  // Another node may not see the run's folder.
  if (launch.node_rank > 0) return take_part(launch, terms, patience_of(config::Experiment{}), o.sets);
  const Resumption resumption{.directory = record::RunDirectory::find(o.results, o.run),
                              .results = o.results,
                              .sets = o.sets,
                              .from = o.from,
                              .data_changed = o.data_changed};
  if (resumption.directory.is_sweep()) return go_on_with_sweep(resumption.directory, o, launch);
  if (o.jobs) log::warn("--jobs has no effect: " + o.run + " is a run, not a sweep");
  const auto loaded = launch::load_experiment(resumption.directory.config(), o.sets);
  launch::apply_init_method(loaded, launch);
  return lead(launch, terms, patience_of(loaded.experiment),
              [&](launch::Nodes* nodes) { return resume_run(resumption, launch, nodes); });
}

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
  launch::settle(point.prepared.plan, directory, point.position);
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
  return launch::find_launched(fs::path(results) / name, launch.id);
}

launch::OpenRun create_run(const std::string& results, const std::string& name, const std::string& run_id,
                           const record::TagChange& tags) {
  launch::OpenRun run{.directory = record::RunDirectory::create(results, name, run_id), .lock = {}, .start = {}};
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

void add_data_changed(CLI::App& verb, bool& data_changed) {
  verb.add_flag("--data-changed", data_changed, "accept files of the data that have changed since the checkpoint");
}

int resume_run(const Resumption& r, const launch::Launch& launch, launch::Nodes* nodes) {
  FileDescriptor lock;
  if (launch.leads()) lock = r.directory.lock();
  const ResumePoint point = find_resume_point(r, launch);
  require_same_name(r, point);
  require_same_ranks(r, point.prepared.plan);
  // After a restart by the launcher the folder is not printed again.
  const auto print_once = [&](const record::RunDirectory& directory) {
    if (launch.attempt == 0 && r.prints_folder) print_folder(directory.path());
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
    return launch::OpenRun{.directory = r.directory,
                           .lock = std::move(lock),
                           .start = point.prepared.start,
                           .resumed = true,
                           .changes = point.changes_as_text()};
  };
  return launch::train({.plan = point.prepared.plan,
                        .library = *point.prepared.library,
                        .data = point.prepared.data,
                        .open = go_back,
                        .experiment_folder = paths::working_folder(),
                        .begun = print_once,
                        .until_step = r.until_step},
                       nodes);
}

namespace {

void add_resume(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ResumeOptions>();
  CLI::App* verb = app.add_subcommand("resume", "continue a run or a sweep");
  verb->add_option("RUN", o->run, kRunInWords)->required();
  add_sets(*verb, o->sets, "the run's setting");
  add_results(*verb, o->results);
  verb->add_option("--from", o->from, "checkpoint: latest, best or a step")->capture_default_str();
  add_data_changed(*verb, o->data_changed);
  add_jobs(*verb, o->jobs);
  add_launch_flags(*verb, o->flags);
  add_max_restarts(*verb, o->flags);
  add_output(*verb);
  verb->callback([o, &exit_code] { exit_code = resume(*o); });
}

const bool resume_registered = register_verb(20, add_resume);

}  // namespace

}  // namespace ddp::commands
