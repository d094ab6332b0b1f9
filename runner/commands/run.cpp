#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "commands/prepare.h"
#include "commands/resume.h"
#include "commands/show_plan.h"
#include "launch/training.h"

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
  bool dry_run = false;
};

// The file that --init-from names: itself, or the model of a checkpoint.
fs::path weights_of(const std::string& init_from) {
  const fs::path file = fs::is_directory(init_from) ? fs::path(init_from) / "model.safetensors" : fs::path(init_from);
  if (!init_from.empty() && !fs::is_regular_file(file)) {
    throw usage_error("there are no weights", "--init-from " + init_from, "give a checkpoint or a .safetensors file");
  }
  return file;
}

int run(const RunOptions& o) {
  const fs::path weights = weights_of(o.init_from);
  std::vector<std::string> sets = o.sets;
  // Quoted, so that a name such as 7 stays a text.
  using Handler = config::Value::error_handler_t;
  if (!o.name.empty()) sets.push_back("name=" + config::Value(o.name).dump(-1, ' ', false, Handler::replace));
  config::Loaded loaded = config::load(o.file, sets, config::Components::installed());
  const fs::path own = fs::path(o.results) / loaded.experiment.name / o.run_id;
  if (!o.run_id.empty() && !o.dry_run && fs::exists(own / "config.toml")) {
    return resume_run(record::RunDirectory(own), o.sets, "latest");
  }
  const Prepared prepared = prepare(std::move(loaded), {.resume_from = {}, .init_from = weights});
  if (o.dry_run) {
    show_plan(prepared.plan, prepared.workload, prepared.probe, /*json=*/false);
    return 0;
  }
  const auto directory = record::RunDirectory::create(o.results, prepared.plan.experiment.name, o.run_id);
  const int code = launch::train({.plan = prepared.plan,
                                  .library = *prepared.library,
                                  .directory = directory,
                                  .lock = directory.lock(),
                                  .experiment_folder = fs::absolute(o.file).parent_path(),
                                  .resumed = false,
                                  .start = prepared.start});
  std::cout << directory.path().string() << std::endl;
  return code;
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
  verb->add_flag("--dry-run", o->dry_run, "show the plan, train nothing");
  verb->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace ddp::commands
