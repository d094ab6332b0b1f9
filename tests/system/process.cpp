#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

constexpr int kLookAgainMilliseconds = 3;

// The fields after the name in a process's or thread's /proc stat, "12 (ddp-exp) S 1 12 12 …": state, parent, group,
// session. Nothing if it is gone.
std::istringstream fields_of(const fs::path& process) {
  const std::string stat = text_of(process / "stat");
  const auto name_end = stat.rfind(')');
  return std::istringstream(name_end == std::string::npos ? "" : stat.substr(name_end + 1));
}

std::vector<std::string> environment_of(const Launch& launch) {
  // Variables of the machine or a scheduler must not affect a test; its GPUs belong to another test.
  std::map<std::string, std::string> all{{"CUDA_VISIBLE_DEVICES", ""}, {"TERM", "xterm"}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string pair = *entry;
    const std::string name = pair.substr(0, pair.find('='));
    const bool launcher = name == "RANK" || name == "WORLD_SIZE" || name == "NO_COLOR" || name.starts_with("SLURM_") ||
                          name.starts_with("TORCHELASTIC_") || name.starts_with("MASTER_");
    if (!launcher && !all.contains(name)) all[name] = pair.substr(name.size() + 1);
  }
  for (const auto& [name, value] : launch.environment) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

// Pointers for exec; the strings must outlive them.
std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (auto& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

int poll_end(int pidfd, int milliseconds) {
  pollfd end{pidfd, POLLIN, 0};
  return poll(&end, pidfd >= 0 ? 1 : 0, milliseconds);
}

}  // namespace

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool wait_until(const std::function<bool()>& true_now, pid_t pid) {
  const int pidfd = pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  const auto deadline = Clock::now() + kPatience;
  bool happened = true_now();
  while (!happened && Clock::now() < deadline) {
    const bool ended = poll_end(pidfd, kLookAgainMilliseconds) > 0;
    happened = true_now();
    if (ended) break;
  }
  if (pidfd >= 0) close(pidfd);
  return happened;
}

bool stand_still(const std::vector<pid_t>& processes) {
  for (const pid_t pid : processes) kill(pid, SIGSTOP);
  const auto stopped = [](const fs::path& thread) {
    char state = 0;
    return !(fields_of(thread) >> state) || state == 'T';
  };
  return wait_until([&] {
    return std::all_of(processes.begin(), processes.end(), [&](pid_t pid) {
      std::error_code gone;
      const fs::directory_iterator threads(fs::path("/proc") / std::to_string(pid) / "task", gone);
      return std::all_of(begin(threads), end(threads), [&](const auto& thread) { return stopped(thread.path()); });
    });
  });
}

Process::Process(const Launch& launch) {
  static std::atomic<int> count{0};
  const std::string number = std::to_string(++count);
  out_ = launch.folder / (".out-" + number);
  err_ = launch.folder / (".err-" + number);
  std::vector<std::string> arguments{DDP_EXP};
  arguments.insert(arguments.end(), launch.arguments.begin(), launch.arguments.end());
  std::vector<std::string> environment = environment_of(launch);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  int terminal_end = -1;
  winsize size{.ws_row = 24, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  if (launch.terminal && openpty(&terminal_, &terminal_end, nullptr, nullptr, &size) != 0) {
    throw std::runtime_error("no terminal");
  }
  // The orphans of a killed program come to this process, because there may be no init to take them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_ = fork();
  if (pid_ == 0) {
    setsid();
    if (chdir(launch.folder.c_str()) != 0) _exit(127);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(launch.output >= 0 ? launch.output : open(out_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), 1);
    dup2(terminal_end >= 0 ? terminal_end : open(err_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), 2);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    execve(DDP_EXP, argv.data(), envp.data());
    _exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (terminal_end >= 0) close(terminal_end);
  if (terminal_ >= 0) fcntl(terminal_, F_SETFL, O_NONBLOCK);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Process::~Process() {
  for (const auto& member : members()) ::kill(member.pid, SIGKILL);
  if (code_ < 0) waitpid(pid_, nullptr, 0);
  close(pidfd_);
  if (terminal_ >= 0) close(terminal_);
}

bool Process::ended() {
  if (code_ >= 0) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void Process::kill() {
  signal(SIGKILL);
  if (!wait_until([&] { return all_gone(); })) throw std::runtime_error("a process is left");
}

int Process::wait() {
  const auto deadline = Clock::now() + kPatience;
  while (!ended() && Clock::now() < deadline) {
    // A terminal that nobody reads blocks its writers.
    poll_end(pidfd_, terminal_ >= 0 ? kLookAgainMilliseconds : 1000);
    read_terminal();
  }
  return code_;
}

std::string Process::out() const { return text_of(out_); }

std::string Process::err() {
  if (terminal_ < 0) return text_of(err_);
  read_terminal();
  return shown_;
}

void Process::read_terminal() {
  char piece[4096];
  for (ssize_t size; terminal_ >= 0 && (size = read(terminal_, piece, sizeof piece)) > 0;) {
    shown_.append(piece, static_cast<std::size_t>(size));
  }
}

std::vector<Member> Process::members() const {
  std::vector<Member> list;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream rest = fields_of(entry.path());
    Member member{.pid = std::stoi(name), .parent = 0, .state = 0};
    pid_t group = 0;
    pid_t session = 0;
    if (rest >> member.state >> member.parent >> group >> session && session == pid_) list.push_back(member);
  }
  return list;
}

std::vector<pid_t> Process::children() const {
  const std::string pid = std::to_string(pid_);
  std::istringstream words(text_of(fs::path("/proc") / pid / "task" / pid / "children"));
  return {std::istream_iterator<pid_t>(words), {}};
}

std::vector<pid_t> Process::ranks() const {
  constexpr std::string_view kLog = "rank-";
  std::map<int, pid_t> by_number;
  std::error_code ignored;
  for (const auto& member : members()) {
    // A rank's stdout is its log; short-lived helper processes have none.
    const fs::path out = fs::read_symlink(fs::path("/proc") / std::to_string(member.pid) / "fd/1", ignored);
    const std::string name = out.filename().string();
    if (member.pid == pid_ || member.state == 'Z' || !name.starts_with(kLog)) continue;
    by_number[std::stoi(name.substr(kLog.size()))] = member.pid;
  }
  std::vector<pid_t> list;
  for (const auto& [number, pid] : by_number) list.push_back(pid);
  return list;
}

bool Process::wait_for_ranks(std::size_t count) {
  return wait_until([&] { return ranks().size() == count; }, pid_);
}

bool Process::all_gone() {
  if (!ended()) return false;
  // A zombie whose threads are still ending has not gone yet: only waitpid knows.
  for (const auto& member : members()) {
    if (member.parent == getpid()) waitpid(member.pid, nullptr, WNOHANG);
  }
  return members().empty();
}

}  // namespace ddp::system_test
