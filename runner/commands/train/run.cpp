#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/look/show_plan.h"
#include "commands/sets.h"
#include "commands/train/launch_flags.h"
#include "commands/train/launched.h"
#include "commands/train/nodes.h"
#include "commands/train/output.h"
#include "commands/train/prepare.h"
#include "commands/train/resume.h"
#include "launch/plan/device_lock.h"
#include "launch/run/training.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct RunOptions {
  std::string file;
  std::vector<std::string> sets;
  std::string name;
  std::string results = "results";
  std::string run_id;
  std::string init_from;
  launch::LaunchFlags flags;
  bool dry_run = false;
};

// As node 0, or the only one.
int run_here(const RunOptions& o, config::Loaded loaded, const launch::Launch& launch, launch::Nodes& nodes) {
  const record::RunDirectory own(fs::path(o.results) / loaded.experiment.name / o.run_id);
  if (!o.run_id.empty() && own.begun()) return resume_run({.directory = own, .sets = o.sets}, launch, nodes);
  const Prepared prepared = prepare(std::move(loaded), launch);
  nodes.welcome(config::to_toml(prepared.plan.experiment));
  auto meeting = launch::make_meeting_point(prepared.plan, launch, nodes.own_ip());
  const auto directory = record::RunDirectory::create(o.results, prepared.plan.experiment.name, o.run_id);
  FileDescriptor lock = directory.lock();
  if (directory.begun()) throw usage_error("another process has begun this run", directory.path().string());
  return launch::train({.plan = prepared.plan,
                        .library = *prepared.library,
                        .nodes = nodes,
                        .launch = launch,
                        .meeting = std::move(meeting),
                        .directory = directory,
                        .lock = std::move(lock),
                        .experiment_folder = paths::absolute(o.file).parent_path(),
                        .resumed = false,
                        .start = prepared.start,
                        .begun = [&] { print_folder(directory.path()); },
                        .device_locks = launch::lock_devices(prepared.plan)});
}

int run(const RunOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  std::vector<std::string> sets = o.sets;
  if (!o.name.empty()) sets.push_back("name=" + as_toml(o.name));
  if (!o.init_from.empty()) sets.push_back("init_from=" + as_toml(o.init_from));
  config::Loaded loaded = config::load(o.file, sets, config::Components::installed());
  launch::Launch launch = launch::choose_launch(o.flags);
  if (loaded.given("sweep"))
    log::info("it has a [sweep]: `run` trains the file once, as it stands; `sweep` its trials");
  if (o.dry_run) {
    const Prepared prepared = prepare(std::move(loaded), launch);
    show_plan(prepared, o.results, /*json=*/false);
    return 0;
  }
  launch::apply_init_method(loaded, launch);
  if (launch.one_rank()) {
    return run_launched({.results = o.results, .run_id = o.run_id, .sets = o.sets, .file = o.file}, std::move(loaded),
                        launch);
  }
  config::Value asked = config::write(loaded.experiment);
  asked.erase("init_from");  // weights are node 0's to read
  const config::Value terms = launch::terms_of(launch, "run", {{"experiment", asked}});
  const auto patience = patience_of(loaded.experiment);
  if (launch.node_rank > 0) return take_part(launch, terms, patience);
  return lead(launch, terms, patience,
              [&](launch::Nodes& nodes) { return run_here(o, std::move(loaded), launch, nodes); });
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "train an experiment");
  verb->add_option("FILE", o->file, "the experiment")->required();
  add_sets(*verb, o->sets);
  verb->add_option("--name", o->name, "the folder under the results root");
  verb->add_option("--results", o->results, "the results root")->capture_default_str();
  verb->add_option("--run-id", o->run_id, "create this run, or go on with it");
  verb->add_option("--init-from", o->init_from, "take the weights of this checkpoint or .safetensors file");
  add_launch_flags(*verb, o->flags);
  add_max_restarts(*verb, o->flags);
  add_verbosity(*verb);
  verb->add_flag("--dry-run", o->dry_run, "show the plan, train nothing");
  verb->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ddp::commands
