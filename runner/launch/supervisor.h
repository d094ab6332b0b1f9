#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/child.h"
#include "record/progress_page.h"
#include "record/run_directory.h"
#include "record/summary.h"

namespace ddp::launch {

// How a group of ranks ended.
struct Outcome {
  std::optional<record::Failure> failure;  // the rank that went first, and why
  int stop_signal = 0;                     // the signal that asked for a stop; 0: none did
};

// Starts the ranks of a group and watches them until all have ended: shows what they say, asks for an agreed
// stop at the first INT, TERM or USR2 and ends them at the second, and ends all when one fails.
class Supervisor {
 public:
  Supervisor(record::ProgressPage& page, record::RunDirectory directory);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Forks one rank. `kept`: descriptors that stay open in it; `body` gets the pipe to speak through.
  void start(int rank, std::vector<int> kept, const std::function<int(int console)>& body);

  // While the ranks are watched, calls `readable` whenever that descriptor is, until it returns false.
  void watch_also(int descriptor, std::function<bool()> readable);

  // Returns when every rank has ended; none is left, and none is a zombie.
  Outcome watch();

 private:
  struct Ended {
    int rank;
    int status;
  };
  void handle_signal();
  void show_console();
  void reap();
  void end_all();
  bool any_running() const;
  record::Failure blame() const;
  std::string describe(const Ended& ended) const;

  record::ProgressPage& page_;
  const record::RunDirectory directory_;
  FileDescriptor signals_;
  FileDescriptor console_from_;
  FileDescriptor console_to_;
  std::string console_text_;  // what came so far of a line
  std::vector<Child> ranks_;
  std::vector<Ended> ended_;  // in the order in which they were found, until the others were killed
  int also_ = -1;             // another descriptor to watch, and what to call
  std::function<bool()> also_readable_;
  bool failed_ = false;
  int stop_signal_ = 0;
  std::function<void(const std::string&)> print_;
};

}  // namespace ddp::launch
