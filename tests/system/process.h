#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ddp::system_test {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// The whole content of a file; "" where it cannot be read.
std::string text_of(const std::filesystem::path& file);

// How long a test waits for what must happen: long, so that a loaded machine fails no test.
inline constexpr std::chrono::seconds kPatience{90};

// Waits until `true_now` is, looking again every few milliseconds, and at once when `pid` ends (where given).
// Returns false when patience ends first.
bool wait_until(const std::function<bool()>& true_now, pid_t pid = -1);

// Stops these processes, and waits until each of their threads stands still. Returns false when patience ends first.
bool stand_still(const std::vector<pid_t>& processes);

// One process of the program's session, as /proc tells it.
struct Member {
  pid_t pid;
  pid_t parent;
  char state;  // 'Z': a zombie
};

struct Launch {
  std::vector<std::string> arguments;
  std::filesystem::path folder;                    // its working directory
  std::map<std::string, std::string> environment;  // beside what the test itself has
  bool terminal = false;                           // stderr is one
  int output = -1;                                 // a descriptor that its stdout is; else a file, which out() reads
};

// The program, started in a session of its own so that none of its processes can hide. Killed with all of
// them when this goes.
class Process {
 public:
  explicit Process(const Launch& launch);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Waits for its end. Returns the exit code, or 128 + the signal that ended it; -1 when patience ends first.
  int wait();
  bool ended();

  // What it wrote so far.
  std::string out() const;
  std::string err();

  // All processes of its session, zombies too; those that it has started itself, in that order; and its ranks, by their
  // numbers.
  std::vector<Member> members() const;
  std::vector<pid_t> children() const;
  std::vector<pid_t> ranks() const;
  bool wait_for_ranks(std::size_t count);
  // Is no process left? Where the program was killed, its ranks are now this process's, which takes their
  // end.
  bool all_gone();

 private:
  void read_terminal();

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int terminal_ = -1;
  int code_ = -1;
  std::string shown_;  // on the terminal
  std::filesystem::path out_;
  std::filesystem::path err_;
};

}  // namespace ddp::system_test
