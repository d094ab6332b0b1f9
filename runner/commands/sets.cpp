#include "commands/sets.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/own_command.h"
#include "config/value.h"

namespace ddp::commands {

void add_sets(CLI::App& verb, std::vector<std::string>& sets, const std::string& what) {
  verb.add_option("--set", sets, "key=value that overrides " + what + ", as in TOML; repeatable")
      ->take_all()
      ->allow_extra_args(false);
}

void add_name(CLI::App& verb, std::string& name, const std::string& doc) {
  verb.add_option("--name", name, doc)->each([](const std::string& given) {
    if (given.empty()) throw usage_error("\"\" cannot be the name of an experiment", "--name", "leave --name out");
  });
}

void add_run_id(CLI::App& verb, std::string& run_id, const std::string& doc) {
  verb.add_option("--run-id", run_id, doc)->each([](const std::string& given) {
    if (given.empty()) throw usage_error("\"\" cannot be a run id", "--run-id", "leave --run-id out");
  });
}

std::string as_toml(const std::string& text) {
  return config::Value(text).dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

std::string with_sets(std::string command, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    // "--name name=\"mine\"" stands for the option that sets a key (config::assignment_of_option).
    const std::size_t key = set.starts_with("--") ? set.find(' ') + 1 : 0;
    command += " --set " + shell_word(set.substr(key));
  }
  return command;
}

}  // namespace ddp::commands
