#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/commands.h"
#include "commands/launch_flags.h"
#include "commands/prepare.h"
#include "commands/sets.h"
#include "commands/show_plan.h"

namespace ddp::commands {

void add_plan(CLI::App& app, int& exit_code) {
  struct Options {
    std::string file;
    std::vector<std::string> sets;
    launch::LaunchFlags flags;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("plan", "show ranks, devices, steps and memory; train nothing");
  verb->add_option("FILE", o->file, "the experiment")->required();
  add_sets(*verb, o->sets);
  add_launch_flags(*verb, o->flags);
  verb->add_flag("--json", o->json, "as JSON");
  verb->callback([o, &exit_code] {
    config::Loaded loaded = config::load(o->file, o->sets, config::Components::installed());
    launch::Launch launch = launch::choose_launch(o->flags);
    const Prepared prepared = prepare(std::move(loaded), launch);
    show_plan(prepared.plan, prepared.workload, prepared.probe, o->json);
    exit_code = 0;
  });
}

}  // namespace ddp::commands
