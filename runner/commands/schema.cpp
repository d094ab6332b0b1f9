#include <iostream>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "config/load.h"

namespace ddp::commands {

void add_schema(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("schema", "print the JSON Schema of experiment files, for editors");
  verb->callback([&exit_code] {
    std::cout << config::schema(config::Components::installed()).dump(2) << "\n";
    exit_code = 0;
  });
}

}  // namespace ddp::commands
