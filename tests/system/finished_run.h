#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {

// A workspace with a finished run, small/…, and its files.
struct FinishedRun {
  explicit FinishedRun(const std::string& file, const std::vector<std::string>& sets = {}) {
    workspace.write("small.toml", file);
    std::vector<std::string> arguments{"run", "small.toml"};
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    const Outcome outcome = workspace.run(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    run = outcome.run;
    model = run.model();
    training = run.training();
  }
  Outcome resume(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "resume");
    return workspace.run(arguments);
  }
  void flip_a_byte(const std::filesystem::path& file) const {
    std::string bytes = text_of(file);
    bytes.at(bytes.size() - 3) ^= 1;
    workspace.write(std::filesystem::relative(file, workspace.folder()), bytes);
  }
  const Workspace workspace;
  RunFolder run{""};
  std::string model;
  std::string training;
};

}  // namespace ddp::system_test
