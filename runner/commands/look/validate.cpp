#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/load/files.h"
#include "config/load/load.h"
#include "config/option/fields.h"
#include "launch/cluster/launcher.h"
#include "launch/library/plugin.h"
#include "launch/library/rank_library.h"
#include "launch/plan/ineffective.h"
#include "launch/plan/plan.h"
#include "launch/process/stop_signals.h"
#include "rank/probe.h"
#include "report/text/words.h"
#include "runs/prepare.h"
#include "sweep/prepare.h"

namespace ddp::commands {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  bool json = false;
};

constexpr const char* kNotChecked = "whether model, data and loss fit together";

// The findings about one file, as text.
struct Findings {
  std::vector<std::string> mistakes;
  std::vector<std::string> warnings;
};

// The library that reads models, loaded once, and only if an experiment names a model that comes from a file.
using Library = std::optional<launch::RankLibrary>;

// Throws ddp::Error (usage) if the model comes from a file that is refused. None of its code runs.
void require_readable_model(const config::Loaded& loaded, Library& library) try {
  const config::Experiment& e = loaded.experiment;
  const config::Components components = e.components();
  const config::Spec* spec = components.find("model", e.model.name);
  if (spec == nullptr || !spec->traits.value("read_by_validate", false)) return;
  if (!library) library.emplace(/*gpus=*/false);
  rank::Task task;
  task.experiment = &e;
  library->ask("reading the model", rank::request_for(task, rank::CheckRequest{}), {});
} catch (const Error& error) {
  throw config::at_model_option(loaded, error);
}

void look_into(const config::Loaded& loaded, Library& library, Findings& found) {
  for (const auto& check : {launch::require_init_method, launch::require_weights, launch::require_fitting_machine}) {
    try {
      check(loaded);
    } catch (const Error& error) {
      report::add_once(found.mistakes, error.what());
    }
  }
  const std::vector<Error> missing = config::missing_files(loaded);
  for (const Error& one : missing) report::add_once(found.mistakes, one.what());
  if (missing.empty()) {
    try {
      require_readable_model(loaded, library);
    } catch (const Error& error) {
      report::add_once(found.mistakes, runs::at_its_line(loaded, error).what());
    }
  }
  for (const std::string& warning : launch::without_effect(loaded)) report::add_once(found.warnings, warning);
}

Findings examine(const std::string& file, const ValidateOptions& options, Library& library) {
  Findings found;
  try {
    if (config::has_sweep(file, options.sets)) {
      const config::LoadedSweep sweep = launch::load_sweep(file, options.sets);
      for (const auto& trial : sweep::check_trials(sweep, *sweep::make_search(sweep))) look_into(trial, library, found);
    } else {
      look_into(launch::load_experiment(file, options.sets), library, found);
    }
  } catch (const launch::Stopped&) {
    throw;
  } catch (const Error& error) {
    found.mistakes.push_back(error.what());
  }
  return found;
}

struct CheckedFile {
  std::string file;
  Findings found;

  void fields(config::Fields& f) {
    const bool ok = found.mistakes.empty();
    f({"file"}, file);
    f({"ok"}, ok);
    f({"warnings", "settings without effect, as text for people"}, found.warnings);
    f({"not_checked", "checks that need data and tensors; `plan` makes them"},
      ok ? std::vector<std::string>{kNotChecked} : std::vector<std::string>());
    f({.name = "error", .doc = "all mistakes, as text for people", .optional = true},
      report::joined(found.mistakes, "\n"));
  }
};

struct ValidateOutput {
  std::vector<CheckedFile> files;

  void fields(config::Fields& f) {
    f.version();
    f({"files"}, files);
  }
};

void print_findings(const std::string& file, const Findings& found) {
  for (const std::string& warning : found.warnings) log::warn(warning);
  if (found.mistakes.empty()) {
    std::cout << file << ": ok (not checked: " << kNotChecked << "; `" << own_command("plan") << "` tries one batch)\n";
  } else {
    std::cerr << report::joined(found.mistakes, "\n") << "\n";
  }
}

// Checks every file, also after a bad one.
int validate(const ValidateOptions& options) {
  ValidateOutput all;
  Library library;
  bool all_good = true;
  for (const std::string& file : options.files) {
    const Findings found = examine(file, options, library);
    all_good = all_good && found.mistakes.empty();
    if (options.json) {
      all.files.push_back({.file = file, .found = found});
    } else {
      print_findings(file, found);
    }
  }
  if (options.json) report::print_json(config::written(all), std::cout);
  return all_good ? 0 : 2;
}

void add_validate(CLI::App& verb, ValidateOptions& options) {
  completes(verb.add_option("FILE", options.files, "experiment files (.toml)")->required(),
            completion::files({".toml"}));
  add_sets(verb, options.sets);
  verb.add_flag("--json", options.json, "print JSON");
}

const bool validate_registered =
    register_verb(
        60, "validate", "check experiment files and report all mistakes at once", add_validate, validate,
        {.examples = {"validate experiments/basic.toml experiments/digits.toml"}, .aliases = {"check", "lint"}}) &&
    register_schema<ValidateOutput>("validate", "validate FILE… --json");

}  // namespace

}  // namespace ddp::commands
