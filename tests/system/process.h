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

// Returns the whole content of a file; "" if it cannot be read.
std::string text_of(const std::filesystem::path& file);

// The time limit of every wait: long, so a loaded machine fails no test.
inline constexpr std::chrono::seconds kPatience{90};

// Waits until `true_now()` is true: checks it every few milliseconds, and at once when `pid` (if given) ends. Returns
// false after kPatience.
bool wait_until(const std::function<bool()>& true_now, pid_t pid = -1);

// Stops these processes, and waits until each of their threads has stopped. Returns false after kPatience.
bool stand_still(const std::vector<pid_t>& processes);

// One process of the program's session, as in /proc.
struct Member {
  pid_t pid;
  pid_t parent;
  char state;  // 'Z': a zombie
};

struct Launch {
  std::vector<std::string> arguments;
  std::filesystem::path folder;                    // the working directory
  std::map<std::string, std::string> environment;  // in addition to the test's own
  bool terminal = false;                           // true: stderr is a terminal
  int output = -1;                                 // a descriptor for its stdout; by default a file, which out() reads
};

// The program, started in its own session, so none of its processes can hide. The destructor kills all of them.
class Process {
 public:
  explicit Process(const Launch& launch);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Kills it, and waits until none of its processes is left.
  void kill();
  // Waits for its end. Returns the exit code, or 128 + the signal that ended it; -1 after kPatience.
  int wait();
  bool ended();

  // The output so far.
  std::string out() const;
  std::string err();

  // All processes of its session, zombies too; its direct children in the order of their start; and its ranks by
  // number.
  std::vector<Member> members() const;
  std::vector<pid_t> children() const;
  std::vector<pid_t> ranks() const;
  bool wait_for_ranks(std::size_t count);
  // Returns true if no process is left. After a kill of the program its ranks are children of this process, which reaps
  // them.
  bool all_gone();

 private:
  void read_terminal();

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int terminal_ = -1;
  int code_ = -1;
  std::string shown_;  // the text on the terminal
  std::filesystem::path out_;
  std::filesystem::path err_;
};

}  // namespace ddp::system_test
