#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::log {
namespace {

// While it exists, a write of this thread to a pipe without a reader fails, and does not end the process.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    constexpr timespec kNow{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &kNow);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

// Opens the pipe or the terminal behind stderr once more. O_NONBLOCK belongs to an open file description, and the one
// of stderr is shared with the shell and with other programs: they would lose output. poll() alone is not enough,
// because a terminal that has room for one byte would block a line. Returns none for files and sockets, and if the user
// may not open it (a terminal of another user).
FileDescriptor open_stderr() {
  struct stat about {};
  const bool pipe = fstat(STDERR_FILENO, &about) == 0 && S_ISFIFO(about.st_mode);
  if (!pipe && isatty(STDERR_FILENO) == 0) return {};
  return FileDescriptor(open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// Writes without waiting. A file may block, and so may a terminal that cannot be opened.
ssize_t write_some(const FileDescriptor& own, std::string_view text) {
  if (own) return ::write(own.get(), text.data(), text.size());
  const ssize_t sent = send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  pollfd state{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&state, 1, 0) > 0) return ::write(STDERR_FILENO, text.data(), text.size());
  errno = EAGAIN;
  return -1;
}

// stderr. Its reader cannot harm this process: one who has gone does not end it, and one who does not read stops it
// only until never_wait().
class Stderr {
 public:
  void never_wait() { patience_ = kMoment; }

  void forget() {
    unfinished_.clear();
    dropped_ = 0;
    patience_ = kForever;
  }

  // Prints whole lines. Lines that find no place are dropped, and counted.
  void print(std::string_view lines) {
    const std::lock_guard lock(mutex_);
    const std::size_t size = catch_up() ? put(lines, patience_) : 0;
    if (size == 0) dropped_ += std::count(lines.begin(), lines.end(), '\n');
    if (size > 0) unfinished_ = lines.substr(size);
  }

  // Prints a picture of the moment. If it finds no place, the next picture may.
  void draw(std::string_view picture) {
    const std::lock_guard lock(mutex_);
    if (!catch_up()) return;
    const std::size_t size = put(picture, {});
    if (size > 0) unfinished_ = picture.substr(size);
  }

 private:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kForever{-1};
  // A reader that lives, such as a pager or a slow network, has made room after this time.
  static constexpr Milliseconds kMoment{100};

  // Prints the end of a line that was begun, and how many lines were dropped. Returns whether all of it is printed.
  bool catch_up() {
    unfinished_.erase(0, put(unfinished_, {}));
    if (!unfinished_.empty()) return false;
    if (dropped_ == 0) return true;
    const std::string told = "warning: " + std::to_string(dropped_) + (dropped_ == 1 ? " line was" : " lines were") +
                             " dropped: stderr took no more\n";
    const std::size_t size = put(told, {});
    if (size == 0) return false;
    dropped_ = 0;
    unfinished_ = told.substr(size);
    return unfinished_.empty();
  }

  // Returns the size of the part that it has written.
  static std::size_t put(std::string_view text, Milliseconds patience) {
    if (text.empty()) return 0;
    const NoSigpipe no_sigpipe;
    // Not kept: stderr becomes another file in a child.
    const FileDescriptor own = open_stderr();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t size = write_some(own, text.substr(done, PIPE_BUF));
      if (size > 0) done += static_cast<std::size_t>(size);
      if (size >= 0 || errno == EINTR) continue;
      const auto left = std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
      if (errno != EAGAIN || (patience != kForever && left.count() <= 0)) break;
      pollfd state{.fd = own ? own.get() : STDERR_FILENO, .events = POLLOUT, .revents = 0};
      poll(&state, 1, patience == kForever ? -1 : static_cast<int>(left.count()));
    }
    return done;
  }

  std::mutex mutex_;
  std::string unfinished_;  // the rest of a line of which a part is printed
  std::ptrdiff_t dropped_ = 0;
  Milliseconds patience_ = kForever;
};

Stderr& err() {
  static Stderr instance;
  return instance;
}

// Lines for err(), with the level in colour on a terminal.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    message.color_range_start = 0;
    message.color_range_end = 0;
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    if (colored_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, "\033[m");
      line.insert(message.color_range_start,
                  message.level == spdlog::level::err ? "\033[31m\033[1m" : "\033[33m\033[1m");
    }
    err().print(line);
  }
  void flush_() override {}

 private:
  static bool wants_color() {
    const char* no_color = std::getenv("NO_COLOR");
    return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
  }
  const bool colored_ = wants_color();
};

// The level in Unix style: "warning: ", "error: ", and nothing for other lines.
class LevelWord : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    static const std::string warning = "warning: ";
    static const std::string failure = "error: ";
    if (message.level == spdlog::level::warn) out.append(warning.data(), warning.data() + warning.size());
    if (message.level == spdlog::level::err) out.append(failure.data(), failure.data() + failure.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<LevelWord>(); }
};

void set_pattern(spdlog::logger& logger, const std::string& pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelWord>('*').set_pattern(pattern);
  logger.set_formatter(std::move(formatter));
}

spdlog::level::level_enum level_of(Verbosity verbosity) {
  switch (verbosity) {
    case Verbosity::quiet:
      return spdlog::level::err;
    case Verbosity::normal:
      return spdlog::level::info;
    case Verbosity::verbose:
      return spdlog::level::debug;
  }
  return spdlog::level::info;
}

Verbosity chosen_verbosity = Verbosity::normal;
std::string pattern_now = "%^%*%$%v";

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto sink = std::make_shared<StderrSink>();
    sink->set_level(level_of(chosen_verbosity));
    auto made = std::make_shared<spdlog::logger>("ddp-exp", sink);
    set_pattern(*made, pattern_now);
    made->set_level(spdlog::level::debug);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_verbosity(Verbosity verbosity) {
  chosen_verbosity = verbosity;
  logger().sinks().front()->set_level(level_of(verbosity));
}

Verbosity verbosity() { return chosen_verbosity; }

void detail(const std::string& line) { logger().debug(line); }
void info(const std::string& line) { logger().info(line); }
void warn(const std::string& line) { logger().warn(line); }
void warn_of(const std::vector<std::string>& problems) {
  constexpr std::size_t kTold = 10;
  for (std::size_t i = 0; i < std::min(kTold, problems.size()); ++i) warn(problems[i]);
  if (problems.size() > kTold) warn("and " + std::to_string(problems.size() - kTold) + " more warnings");
}

void error(const std::string& line) { logger().error(line); }

void draw(const std::string& picture) { err().draw(picture); }
void print(const std::string& lines) { err().print(lines); }
void never_wait() { err().never_wait(); }
void forget_dropped() { err().forget(); }

void also_to(const std::string& file) try {
  logger().sinks().push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(file));
  set_pattern(logger(), pattern_now);
} catch (const spdlog::spdlog_ex& error) {
  throw training_error(std::string("cannot write the log: ") + error.what(), file);
}

void become_rank(int rank, bool own_log) {
  pattern_now = "%H:%M:%S.%e rank " + std::to_string(rank) + " | %*%v";
  set_pattern(logger(), pattern_now);
  if (own_log) logger().sinks().front()->set_level(spdlog::level::debug);
}

}  // namespace ddp::log
