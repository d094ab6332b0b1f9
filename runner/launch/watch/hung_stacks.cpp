#include "launch/watch/hung_stacks.h"

#include <fcntl.h>
#include <algorithm>
#include <sstream>

namespace ddp::launch {
namespace {

constexpr int kFrames = 8;
constexpr std::size_t kLongestFrame = 160;

constexpr std::size_t kMost = 4;

// Returns the first frames of the main thread from gdb's output, one line each; "": none.
std::string main_thread(const std::string& output) {
  const auto at = output.find("\nThread 1 ");
  if (at == std::string::npos) return "";
  std::istringstream lines(output.substr(at + 1));
  std::string frames;
  std::string line;
  std::getline(lines, line);
  for (int i = 0; i < kFrames && std::getline(lines, line) && line.starts_with("#"); ++i) {
    // "#1  0x00007f2ccc939a41 in f() from lib.so": addresses change with every run.
    const auto address = line.find("0x");
    const auto name = line.find(" in ", address);
    if (address <= 4 && name != std::string::npos) line.erase(address, name + 4 - address);
    frames += "\n    | " + line.substr(0, kLongestFrame);
  }
  return frames;
}

}  // namespace

HungStacks::Asked::Asked(int number, pid_t pid, std::string file)
    : rank(number),
      log(std::move(file)),
      gdb({"gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-ex",
           "set width 0", "-ex", "set print frame-arguments none", "-ex", "thread apply all bt 20", "-p",
           std::to_string(pid)}) {}

Program* HungStacks::ask(int rank, pid_t pid, const std::string& log) {
  if (asked_.size() == kMost) return nullptr;
  return &asked_.emplace_back(rank, pid, log).gdb;
}

bool HungStacks::waiting() const {
  const auto now = std::chrono::steady_clock::now();
  return std::any_of(asked_.begin(), asked_.end(),
                     [now](const Asked& asked) { return asked.gdb.runs() && now - asked.begun <= kStackPatience; });
}

std::vector<std::string> HungStacks::keep(const std::function<void(const std::string&)>& print) {
  std::vector<std::string> all;
  for (const Asked& asked : asked_) {
    const std::string& log = asked.log;
    const std::string& text = asked.gdb.text();
    const std::string frames = main_thread(text);
    if (frames.empty()) continue;
    all.push_back("rank " + std::to_string(asked.rank) + " is in" + (log.empty() ? "" : " (all threads: its log)") +
                  frames);
    // Without a log here, the log is on another machine, which may have ended by now.
    if (log.empty()) {
      print(all.back());
      continue;
    }
    const FileDescriptor file(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file) write_all(file.get(), text.data(), text.size(), log);
  }
  drop();
  return all;
}

void HungStacks::drop() {
  for (Asked& asked : asked_) asked.gdb.end();
}

}  // namespace ddp::launch
