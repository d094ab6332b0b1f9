#pragma once

#include <string>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {

// A workspace with a finished run, small/…, and its files.
struct FinishedRun {
  explicit FinishedRun(const std::string& file, const Words& sets = {}) : workspace("small.toml", file) {
    run = workspace.done(with_sets({"run", "small.toml"}, sets)).run;
    model = run.model();
    training = run.training();
  }

  // Runs `resume` with these words to its end, and requires that it ends well, or is refused.
  Outcome resume(const Words& words, const Words& said = {}) const {
    return workspace.done(joined({"resume"}, words), said);
  }
  Outcome refused(const Words& words, const Words& said) const {
    return workspace.refused(joined({"resume"}, words), said);
  }

  // Requires that the steps and the model of the run are as they were.
  void check_unchanged() const {
    CHECK(run.training() == training);
    CHECK(run.model() == model);
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
