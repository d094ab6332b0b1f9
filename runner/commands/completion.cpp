#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/paths.h"
#include "commands/commands.h"
#include "completion/complete.h"
#include "completion/shells.h"
#include "report/select/row.h"

namespace ddp::commands {

void add_completion(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("completion", "print a script that completes the command line of a shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  verb->callback([shell, &exit_code] {
    std::cout << completion::shell_script(*shell, paths::program());
    exit_code = 0;
  });
}

void complete(const CLI::App& app, const std::vector<std::string>& words) {
  const completion::Choices choices = {
      {"completion", completion::shells()},
      {"schema", schema_names()},
      {"--sort", report::row_keys()},
      {"--status", {"running", "completed", "failed", "interrupted"}},
      {"--backend", {"auto", "gloo", "nccl", "shm"}},
  };
  for (const auto& [text, about] : completion::complete(app, words, choices)) {
    // Nobody types these, and a terminal takes them for commands.
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); })) continue;
    std::cout << text << (about.empty() ? "" : "\t" + about) << "\n";
  }
}

}  // namespace ddp::commands
