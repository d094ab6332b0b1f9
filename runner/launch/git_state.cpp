#include "launch/git_state.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <string>
#include <utility>

#include "launch/pipe.h"

extern char** environ;

namespace ddp::launch {
namespace {

// A run that is done does not wait longer for a git that is slow.
constexpr int kLongestWaitMilliseconds = 1000;

}  // namespace

GitState::GitState(const std::filesystem::path& folder) {
  Pipe pipe = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.to.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  // "# branch.oid <commit>" first, then a line for each change; new files that git does not know do not count.
  const std::string where = folder.empty() ? "." : folder.string();
  const char* command[] = {"git",      "--no-optional-locks",  "-C",   where.c_str(), "status", "--porcelain=v2",
                           "--branch", "--untracked-files=no", nullptr};
  // The parent blocks the signals that it hears by other means; git must not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  if (posix_spawnp(&pid_, "git", &actions, &attributes, const_cast<char**>(command), environ) != 0) pid_ = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  output_ = std::move(pipe.from);
}

GitState::~GitState() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

bool GitState::read() {
  char piece[4096];
  const ssize_t size = ::read(output(), piece, sizeof piece);
  if (size > 0) {
    text_.append(piece, static_cast<std::size_t>(size));
    return true;
  }
  // It has ended: while a run goes on for hours, it must not stay as a zombie.
  if (pid_ > 0) waitpid(std::exchange(pid_, -1), nullptr, 0);
  return false;
}

config::Value GitState::result() {
  pollfd more{.fd = output(), .events = POLLIN, .revents = 0};
  while (poll(&more, 1, kLongestWaitMilliseconds) > 0 && read()) {
  }
  const std::string& text = text_;
  const std::string label = "# branch.oid ";
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return nullptr;
  const std::size_t begin = at + label.size();
  const bool dirty = text.rfind("\n1 ") != std::string::npos || text.rfind("\n2 ") != std::string::npos ||
                     text.rfind("\nu ") != std::string::npos;
  return {{"commit", text.substr(begin, text.find('\n', begin) - begin)}, {"dirty", dirty}};
}

}  // namespace ddp::launch
