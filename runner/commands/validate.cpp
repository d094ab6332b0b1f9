#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/prepare_sweep.h"
#include "commands/sets.h"
#include "config/load.h"

namespace ddp::commands {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  bool json = false;
};

// The mistakes of one file as a person reads them, "" where there are none.
std::string mistakes(const std::string& file, const Arguments& arguments, const config::Components& components) {
  try {
    if (config::has_sweep(file, arguments.sets)) {
      check_trials(config::load_sweep(file, arguments.sets, components));
    } else {
      config::load(file, arguments.sets, components);
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Every file is checked, also after a bad one.
int validate(const Arguments& arguments) {
  const config::Components components = config::Components::installed();
  config::Value files = config::Value::array();
  bool all_good = true;
  for (const std::string& file : arguments.files) {
    const std::string found = mistakes(file, arguments, components);
    all_good = all_good && found.empty();
    if (arguments.json) {
      files.push_back({{"file", file}, {"ok", found.empty()}});
      if (!found.empty()) files.back()["error"] = found;
    } else if (found.empty()) {
      std::cout << file << ": ok\n";
    } else {
      std::cerr << found << "\n";
    }
  }
  if (arguments.json) {
    const config::Value report = {{"version", 1}, {"files", std::move(files)}};
    std::cout << report.dump(2, ' ', false, config::Value::error_handler_t::replace) << "\n";
  }
  return all_good ? 0 : 2;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("validate", "check experiment files and tell every mistake at once");
  verb->add_option("file", arguments->files, "experiment files (.toml)")->required();
  add_sets(*verb, arguments->sets);
  verb->add_flag("--json", arguments->json, "print the result of every file as JSON");
  verb->callback([arguments, &exit_code] { exit_code = validate(*arguments); });
}

}  // namespace ddp::commands
