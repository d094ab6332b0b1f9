#include "commands/sets.h"

#include <CLI/CLI.hpp>

#include "config/value.h"

namespace ddp::commands {

void add_sets(CLI::App& verb, std::vector<std::string>& sets) {
  verb.add_option("--set", sets, "key=value that overrides the file, as in TOML; repeatable")
      ->take_all()
      ->allow_extra_args(false);
}

std::string as_toml(const std::string& text) {
  return config::Value(text).dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

}  // namespace ddp::commands
