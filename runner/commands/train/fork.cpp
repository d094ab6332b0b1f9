#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/text/compose.h"
#include "launch/library/plugin.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "report/select/row.h"
#include "runs/changes.h"
#include "runs/prepare.h"
#include "runs/standing.h"
#include "runs/summary.h"
#include "runs/train.h"
#include "runs/trained.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct ForkOptions {
  std::string run;
  std::vector<std::string> sets;
  std::string name;
  std::string results = "results";
  std::string from = "latest";
  bool data_changed = false;
  std::string run_id;
  record::TagChange tags;
  launch::LaunchFlags flags;
};

// The fork of a trial needs its own name: the name of a sweep stands for the sweep.
std::vector<std::string> fork_sets(const ForkOptions& o, const record::RunDirectory& origin) {
  std::vector<std::string> sets = o.sets;
  if (!o.name.empty()) {
    sets.push_back(config::assignment_of_option("--name", "name", o.name));
  } else if (origin.is_trial()) {
    const auto loaded = launch::load_experiment(record::newest_settings(origin), o.sets);
    sets.push_back("name=" + as_toml(loaded.experiment.name + "-trial-" + origin.path().filename().string()));
  }
  return sets;
}

// Returns the origin's name under the results folder, or its absolute path: a later command finds it from any folder.
std::string name_of_origin(const fs::path& origin, const fs::path& results) {
  const std::string name = report::name_of(origin, results);
  std::error_code unreadable;
  return fs::exists(results / name, unreadable) ? name : paths::absolute(origin).string();
}

// Throws unless the existing run is a fork of this origin: the command then resumes it, as `run --run-id` does.
void require_fork_of(const record::RunDirectory& begun, const std::string& origin) {
  const auto own = record::origin_of(begun);
  if (own && own->run == origin) return;
  throw usage_error("this run exists, but is not a fork of " + origin, begun.path().string(), "give another --run-id");
}

// The request for a fork and its resolved origin.
struct NewFork {
  const ForkOptions& options;
  runs::Resumption origin;
  std::string origin_name;
  std::string name;
};

runs::ResumePoint find_point(const runs::Resumption& origin, const launch::Launch& launch) {
  const std::string where = origin.directory.path().string();
  if (record::complete_checkpoints(origin.directory.checkpoints()).empty()) {
    if (const auto lost = runs::all_saves_lost(origin.directory)) throw *lost;
    throw usage_error(
        "this run has no checkpoint yet: nothing to fork", where,
        "start a new run with its settings: " + own_command("run " + path_word(origin.directory.config())));
  }
  runs::ResumePoint point = runs::find_resume_point(origin, launch);
  if (!point.nothing_to_do()) return point;
  const std::string rule = point.ended_by_rule();
  throw usage_error((rule.empty() ? "all steps are done" : "stop." + rule + " has ended the run") +
                        " at this checkpoint, of step " + std::to_string(point.position.step),
                    where,
                    "continue the fork with " + (rule.empty() ? point.longer_run() : point.weaker_rule()) +
                        "; or use an earlier checkpoint with --from");
}

// Removes the folder of the new run unless the run has begun.
struct Folder {
  std::optional<record::RunDirectory> made = {};
  ~Folder() {
    if (made && !made->begun()) made->discard();
  }
};

// Creates the folder of the new run and writes its first files.
runs::OpenRun open_fork(const NewFork& fork, const runs::ResumePoint& point, Folder& folder) {
  runs::OpenRun run = runs::create_run(fork.options.results, fork.name, fork.options.run_id, fork.options.tags);
  folder.made = run.directory;
  const std::string checkpoint = point.checkpoint.filename().string();
  const fs::path copy =
      runs::write_fork({.origin = {.run = fork.origin_name, .checkpoint = checkpoint, .step = point.position.step},
                        .checkpoint = point.checkpoint,
                        .position = point.position,
                        .changes = point.changes_as_text()},
                       point.prepared.plan, run.directory);
  run.start.resume_from = copy;
  record::accept_data(copy, point.prepared.data.files());
  config::Experiment before = point.before;
  before.name = fork.name;
  record::write_settings(copy, before);
  point.tell_changes();
  log::info("a fork of " + fork.origin_name + " after step " + std::to_string(point.position.step) + ", from " +
            checkpoint);
  return run;
}

int begin_fork(const NewFork& fork, const launch::Launch& launch, launch::Nodes* nodes) {
  const ForkOptions& o = fork.options;
  if (const auto begun = runs::begun_run(o.results, o.run_id, fork.name, launch)) {
    if (launch.leads()) require_fork_of(*begun, fork.origin_name);
    return runs::resume_run({.directory = *begun,
                             .results = o.results,
                             .sets = o.sets,
                             .data_changed = o.data_changed,
                             .show = print_folder_of},
                            launch, nodes);
  }
  const runs::ResumePoint point = find_point(fork.origin, launch);
  Folder folder;
  return runs::train({.plan = point.prepared.plan,
                      .library = *point.prepared.library,
                      .data = point.prepared.data,
                      .open = [&] { return open_fork(fork, point, folder); },
                      .experiment_folder = paths::working_folder(),
                      .begun = print_folder_of},
                     nodes);
}

// Several nodes agree on one checkpoint: then a replaced one is an error.
int begin_fork_while_saving(const NewFork& fork, const launch::Launch& launch, launch::Nodes* nodes) {
  if (launch.nodes > 1 || launch.one_rank) return begin_fork(fork, launch, nodes);
  int exit_code = 0;
  runs::while_saving(fork.origin.directory, [&] { exit_code = begin_fork(fork, launch, nodes); });
  return exit_code;
}

int fork_run(const ForkOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  launch::Launch launch = launch::choose_launch(o.flags);
  const config::Value terms = launch::terms_of(
      launch, "fork",
      {{"run", o.run}, {"set", o.sets}, {"name", o.name}, {"from", o.from}, {"data-changed", o.data_changed}});
  // Another node may not see the origin's folder.
  if (launch.node_rank > 0) return runs::take_part(launch, terms, runs::patience_of(config::Experiment{}), o.sets);
  const auto directory = record::RunDirectory::find(o.results, o.run);
  directory.require_run();
  const std::vector<std::string> sets = fork_sets(o, directory);
  const auto loaded = launch::load_experiment(record::newest_settings(directory), sets);
  launch::apply_init_method(loaded, launch);
  const NewFork fork{.options = o,
                     .origin = {.directory = directory,
                                .results = o.results,
                                .sets = sets,
                                .from = o.from,
                                .data_changed = o.data_changed,
                                .forks = true},
                     .origin_name = name_of_origin(directory.path(), o.results),
                     .name = loaded.experiment.name};
  return launch::lead(launch, terms, runs::patience_of(loaded.experiment),
                      [&](launch::Nodes* nodes) { return begin_fork_while_saving(fork, launch, nodes); });
}

void add_fork(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ForkOptions>();
  CLI::App* verb = app.add_subcommand("fork", "start a new run from the whole state of another run's checkpoint");
  verb->add_option("RUN", o->run, kRunInWords)->required();
  add_sets(*verb, o->sets, "the other run's setting");
  add_name(*verb, o->name, "name of the new run; default: the other run's name");
  verb->add_option("--from", o->from, "checkpoint of the other run: latest, best or a step")->capture_default_str();
  add_data_changed(*verb, o->data_changed);
  add_results(*verb, o->results);
  add_run_id(*verb, o->run_id, "id of the new run; an existing fork is resumed");
  add_tags(*verb, o->tags);
  add_output(*verb);
  add_launch_flags(*verb, o->flags);
  add_max_restarts(*verb, o->flags);
  verb->callback([o, &exit_code] { exit_code = fork_run(*o); });
}

const bool fork_registered = register_verb(30, add_fork);

}  // namespace

}  // namespace ddp::commands
