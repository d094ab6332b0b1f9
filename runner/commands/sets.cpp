#include "commands/sets.h"

#include <CLI/CLI.hpp>

namespace ddp::commands {

void add_sets(CLI::App& verb, std::vector<std::string>& sets) {
  verb.add_option("--set", sets, "key=value instead of the file's, as in TOML; again for more")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace ddp::commands
