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

// The words of a command line.
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

// The words of a line without quotes.
Words words_of(const std::string& line);
Words joined(Words words, const Words& more);
// Adds these settings, with "--set" before each.
Words with_sets(Words words, const Words& sets);

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
  // With this file.
  Workspace(const std::string& name, const std::string& text);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path results() const { return folder_ / "results"; }
  // Writes a file; returns its name.
  std::string write(const std::string& name, const std::string& text) const;

  // Starts ddp-exp with these words, or runs it to its end.
  std::unique_ptr<Process> start(Words words, Environment environment = {}, bool terminal = false) const;
  Outcome run(Words words, Environment environment = {}) const;
  // Waits for the end, and requires this exit code, these texts on stderr, and that no process is left.
  Outcome ends(int code, Words words, const Words& said = {}, Environment environment = {}) const;
  Outcome ends(int code, Process& process, const Words& said = {}) const;
  // The same with exit code 0; and with exit code 2 and nothing on stdout.
  Outcome done(Words words, const Words& said = {}, Environment environment = {}) const;
  Outcome refused(Words words, const Words& said, Environment environment = {}) const;
  // Sends SIGTERM, and requires that the process ends with its code.
  Outcome stop(Process& process) const;
  // Waits for a process's end.
  Outcome finish(Process& process) const;
  // Waits for the only run under results/NAME until it has done that many steps.
  RunFolder running(Process& process, const std::string& name, std::int64_t steps) const;

 protected:
  Environment environment_;  // of every command, unless it has its own value

 private:
  std::filesystem::path folder_;
};

// Requires that both runs trained the same steps to the same model.
void check_same(const RunFolder& run, const RunFolder& other);

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

// A network for six features and one target, on two ranks; each step is saved. Settings of the data precede this text.
inline const std::string kEachStepSaved = R"(
device_pool = ["cpu", "cpu"]
threads     = 1
[model]
name = "mlp"
in_features = 6
hidden = [8]
out_features = 1
[checkpoint]
save_every_steps = 1
keep_last = 50
)";

}  // namespace ddp::system_test
