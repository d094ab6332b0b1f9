#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "base/paths.h"
#include "commands/commands.h"
#include "completion/complete.h"

namespace ddp::commands {
namespace {

void print_script(const std::string& shell) { std::cout << completion::shell_script(shell, paths::program()); }

void add_completion(CLI::App& verb, std::string& shell) {
  completion::completes(verb.add_option("SHELL", shell, "bash, zsh or fish")->required(),
                        completion::one_of(completion::shells()));
}

const bool completion_registered = register_verb(170, "completion", "print the script for a shell's tab completion",
                                                 add_completion, print_script, {.examples = {"completion bash"}});

}  // namespace

void complete(const CLI::App& app, const std::vector<std::string>& words) {
  for (const auto& [text, about] : completion::complete(app, words)) {
    // Nobody types control characters, and a terminal interprets them.
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); })) continue;
    std::cout << text << (about.empty() ? "" : "\t" + about) << "\n";
  }
}

}  // namespace ddp::commands
