#include "commands/typed.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/own_command.h"

namespace ddp::commands {

std::string typed_command(const CLI::App& verb) {
  std::string command = own_command(verb.get_name());
  std::vector<const CLI::Option*> told;
  for (const CLI::Option* option : verb.parse_order()) {
    if (std::find(told.begin(), told.end(), option) != told.end()) continue;
    told.push_back(option);
    const bool is_flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      if (option->nonpositional()) command += " " + option->get_name();
      if (!is_flag) command += " " + (option->nonpositional() ? shell_word(value) : path_word(value));
    }
  }
  return command;
}

}  // namespace ddp::commands
