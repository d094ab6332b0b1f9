#include "launch/process/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "base/error.h"

extern char** environ;

namespace ddp::launch {

Pipe make_pipe(bool reads_wait) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw training_error("cannot make a pipe: " + errno_text(errno));
  if (!reads_wait) fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {.from = FileDescriptor(ends[0]), .to = FileDescriptor(ends[1])};
}

std::string program_file(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (std::filesystem::path(folder) / program).string();
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

pid_t spawn(const std::vector<std::string>& command, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (err < 0) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  } else if (err != STDERR_FILENO) {
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // This process blocks the signals that it receives by other means; the program must not inherit that.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words.front(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? pid : -1;
}

Program::Program(const std::vector<std::string>& command) {
  Pipe pipe = make_pipe();
  pid_ = spawn(command, pipe.to.get(), /*err=*/-1);
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
  // The program has ended. A run may take hours, so its zombie must not stay.
  if (pid_ > 0) waitpid(std::exchange(pid_, -1), nullptr, 0);
  return false;
}

}  // namespace ddp::launch
