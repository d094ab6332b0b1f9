#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/paths.h"
#include "commands/commands.h"
#include "completion/complete.h"
#include "config/metric.h"
#include "report/select/row.h"

namespace ddp::commands {
namespace {

// Returns the keys by which `list` sorts; collects them only for --sort.
std::vector<std::string> sort_keys(const std::vector<std::string>& words) {
  const auto sorts = [](const std::string& word) { return word.starts_with("--sort"); };
  if (std::none_of(words.begin(), words.end(), sorts)) return {};
  return report::row_keys(config::metric_names(config::Components::installed()));
}

void add_completion(CLI::App& verb, int&) {
  auto shell = std::make_shared<std::string>();
  verb.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  verb.callback([shell] { std::cout << completion::shell_script(*shell, paths::program()); });
}

const bool completion_registered = register_verb(170, "completion", "print the script for a shell's tab completion",
                                                 add_completion, {.examples = {"completion bash"}});

}  // namespace

void complete(const CLI::App& app, const std::vector<std::string>& words) {
  const completion::Choices choices = {
      {"completion", completion::shells()},
      {"schema", schema_names()},
      {"--sort", sort_keys(words)},
      {"--status", {"running", "completed", "failed", "interrupted"}},
      {"--backend", {"auto", "gloo", "nccl", "shm"}},
  };
  for (const auto& [text, about] : completion::complete(app, words, choices)) {
    // Nobody types control characters, and a terminal interprets them.
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); })) continue;
    std::cout << text << (about.empty() ? "" : "\t" + about) << "\n";
  }
}

}  // namespace ddp::commands
