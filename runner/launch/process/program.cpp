#include "launch/process/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <utility>

#include "launch/process/pipe.h"

extern char** environ;

namespace ddp::launch {

Program::Program(const std::vector<std::string>& command) {
  Pipe pipe = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.to.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // This process blocks the signals that it hears by other means; the program must not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  if (posix_spawnp(&pid_, words.front(), &actions, &attributes, words.data(), environ) != 0) pid_ = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  output_ = std::move(pipe.from);
}

void Program::end() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, -1), nullptr, 0);
}

bool Program::read() {
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

}  // namespace ddp::launch
