#include "launch/watch/hung_stacks.h"

#include <fcntl.h>
#include <algorithm>

namespace ddp::launch {
namespace {

constexpr std::size_t kMost = 4;

}  // namespace

std::shared_ptr<NativeStack> HungStacks::ask(int rank, pid_t pid, const std::string& log) {
  if (asked_.size() == kMost) return nullptr;
  asked_.push_back({.rank = rank, .log = log, .stack = std::make_shared<NativeStack>(pid)});
  return asked_.back().stack;
}

bool HungStacks::waiting() const {
  return std::any_of(asked_.begin(), asked_.end(), [](const Asked& asked) { return !asked.stack->over(); });
}

std::vector<std::string> HungStacks::keep(const std::function<void(const std::string&)>& print) {
  std::vector<std::string> all;
  for (const auto& [rank, log, stack] : asked_) {
    const std::string frames = stack->main_thread();
    if (frames.empty()) continue;
    all.push_back("rank " + std::to_string(rank) + " is in" + (log.empty() ? "" : " (all threads: its log)") + frames);
    // Without a log here, the log is on another machine, which may have ended by now.
    if (log.empty()) {
      print(all.back());
      continue;
    }
    const FileDescriptor file(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file) write_all(file.get(), stack->text().data(), stack->text().size(), log);
  }
  drop();
  return all;
}

void HungStacks::drop() {
  for (const Asked& asked : asked_) asked.stack->end();
  asked_.clear();
}

}  // namespace ddp::launch
