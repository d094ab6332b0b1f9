#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process.h"
#include "run_folder.h"

namespace ddp::system_test {

// The prefix of the names of test folders.
inline constexpr const char* kWorkspacePrefix = "ddp-system-";

// The end of a process.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
  RunFolder run;      // the run directory that stdout names
  bool left = false;  // a process, or a zombie, is left
};

// A folder for one test in which the program runs; removed when the test ends.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path results() const { return folder_ / "results"; }
  // Writes a file; returns its name.
  std::string write(const std::string& name, const std::string& text) const;

  // Starts ddp-exp with these arguments, or runs it to its end.
  std::unique_ptr<Process> start(std::vector<std::string> arguments,
                                 std::map<std::string, std::string> environment = {}, bool terminal = false) const;
  Outcome run(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) const;
  // Waits for a process's end.
  Outcome finish(Process& process) const;
  // Waits for the only run under results/NAME until it has done that many steps.
  RunFolder running(Process& process, const std::string& name, std::int64_t steps) const;

 private:
  std::filesystem::path folder_;
};

// Small and quick, but with all state that a resume must carry: dropout draws from the generator, momentum is optimizer
// state, an epoch ends with a short batch. 2 ranks, 7 steps per epoch.
inline const std::string kSmall = R"(
dataset     = { name = "random_pairs", size = 101, features = 6, targets = 2 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 4
threads     = 1
[model]
name = "mlp"
in_features = 6
hidden = [8]
out_features = 2
dropout = 0.25
)";

}  // namespace ddp::system_test
