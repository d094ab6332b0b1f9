#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "commands/commands.h"
#include "commands/look/report.h"
#include "commands/look/show_plan.h"
#include "commands/options.h"
#include "commands/use/unnamed_output.h"
#include "config/data_description.h"
#include "config/option/fields.h"
#include "launch/cluster/launcher.h"
#include "launch/library/plugin.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "launch/start/probe.h"
#include "record/saves/data_files.h"
#include "runs/prepare.h"
#include "sweep/prepare.h"

namespace ddp::commands {

namespace {

struct PlanOptions {
  std::string file;
  std::vector<std::string> sets;
  launch::LaunchFlags flags;
  std::optional<int> jobs;  // for a sweep
  std::string results = "results";
  std::string preview;
  std::string rows;  // the file of --sets
  std::optional<std::int64_t> draws;
  bool json = false;
};

void warn_of_data(const config::DataDescription& data) {
  for (const std::string& warning : data.warnings) log::warn(warning);
}

// Warns of the data of a cross-validation's first run.
void warn_of_first(const config::LoadedSweep& sweep, const PlanOptions& o) {
  if (!sweep.is_cv()) return;
  const runs::Prepared first =
      runs::prepare({.loaded = sweep.trial(sweep.point_of(sweep.parts.front()))}, launch::choose_launch(o.flags));
  warn_of_data(launch::describe_data(*first.library, first.plan, first.data));
}

void plan(const PlanOptions& o) {
  if (!o.preview.empty()) require_name(o.preview, "--preview", ".html");
  if (!o.rows.empty()) require_name(o.rows, "--sets", ".csv");
  if (config::has_sweep(o.file, o.sets)) {
    if (!o.preview.empty() || o.draws || !o.rows.empty()) {
      const std::string option = o.draws ? "--draws" : o.rows.empty() ? "--preview" : "--sets";
      throw usage_error("is a sweep, but " + option + " shows the data of one experiment", o.file,
                        "leave " + option + " out, or plan the experiment that the sweep extends");
    }
    const config::LoadedSweep loaded = launch::load_sweep(o.file, o.sets);
    warn_of_first(loaded, o);
    show_sweep(sweep::prepare_sweep(loaded, o.jobs, o.results, /*timed=*/true), o.results, o.json);
    return;
  }
  config::Loaded loaded = launch::load_experiment(o.file, o.sets);
  launch::require_init_method(loaded);
  launch::Launch launch = launch::choose_launch(o.flags);
  if (launch.leads()) launch::find_weights(loaded, o.results);
  if (o.jobs) log::warn("--jobs has no effect: " + o.file + " has no [sweep]");
  runs::Prepared prepared = runs::prepare({.loaded = std::move(loaded)}, launch);
  if (o.draws) {
    std::cout << launch::draws_of_data(*prepared.library, prepared.plan, prepared.data, *o.draws).dump(2) << "\n";
    return;
  }
  prepared.probe = runs::probed(prepared, /*timed=*/true);
  for (const record::DataFile& file : prepared.data.files()) refuse_input(o.rows, {file.path});
  const config::DataDescription data = launch::describe_data(*prepared.library, prepared.plan, prepared.data);
  warn_of_data(data);
  if (!o.preview.empty()) write_preview(o.preview, prepared, data);
  if (!o.rows.empty()) write_sets(o.rows, prepared);
  show_plan(prepared, data, forecast_memory(prepared), o.results, o.json);
  if (!o.preview.empty() && !o.json) std::cout << "preview      " << o.preview << "\n";
  if (!o.rows.empty() && !o.json) std::cout << "sets         " << o.rows << "\n";
}

void add_plan(CLI::App& verb, PlanOptions& o) {
  completes(verb.add_option("FILE", o.file, "experiment file")->required(), completion::files({".toml"}));
  add_sets(verb, o.sets);
  add_launch_flags(verb, o.flags);
  add_jobs(verb, o.jobs);
  add_results(verb, o.results, "results folder of the planned run");
  verb.add_option("--preview", o.preview, "also write an HTML page that shows the data before and after preprocessing")
      ->type_name("FILE.html");
  verb.add_option("--sets", o.rows, "also write the set of each row: train, validation, test or dropped")
      ->type_name("FILE.csv");
  CLI::Option* draws = verb.add_option("--draws", o.draws,
                                       "print only the transforms' draws for the first N samples in epoch 0, as JSON");
  draws->check(CLI::PositiveNumber)->type_name("N");
  verb.get_option("--preview")->excludes(draws);
  verb.get_option("--sets")->excludes(draws);
  verb.add_flag("--json", o.json, "print JSON");
}

const bool plan_registered =
    register_verb(50, "plan", "show data, ranks, devices, steps and memory, or the trials of a sweep; train nothing",
                  add_plan, plan,
                  {.examples = {"plan experiments/digits.toml", "plan experiments/digits.toml --preview page.html"}}) &&
    register_schema<config::DrawnSamples>("draws", "plan FILE --draws N");

}  // namespace

}  // namespace ddp::commands
