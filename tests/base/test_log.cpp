#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <string>

#include "catch.h"
#include "words.h"

namespace ddp {
namespace {

// While it exists, this process's stderr is that descriptor, and nobody waits for its reader.
class OtherStderr {
 public:
  explicit OtherStderr(int descriptor) : before_(dup(STDERR_FILENO)) {
    dup2(descriptor, STDERR_FILENO);
    log::never_wait();
  }
  ~OtherStderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    log::forget_dropped();
  }
  OtherStderr(const OtherStderr&) = delete;
  OtherStderr& operator=(const OtherStderr&) = delete;

 private:
  const int before_;
};

std::string text_in(int descriptor) {
  std::string text;
  std::array<char, 4096> piece{};
  for (pollfd ready{descriptor, POLLIN, 0}; poll(&ready, 1, 0) > 0;) {
    const ssize_t size = read(descriptor, piece.data(), piece.size());
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

TEST_CASE("a reader of stderr who has gone does not end the process") {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  close(pipe_ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  {
    const OtherStderr other(pipe_ends[1]);
    log::info("a line");
    log::print("another\n");
    log::draw("a picture");
  }
  std::signal(SIGPIPE, before);
  close(pipe_ends[1]);
}

TEST_CASE("lines that a full pipe does not take are dropped and counted, and no line is torn") {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  REQUIRE(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096) == 4096);
  std::string printed;
  {
    const OtherStderr other(pipe_ends[1]);
    for (int i = 0; i < 100; ++i) log::info(std::string(127, 'x'));
    printed = text_in(pipe_ends[0]);
    log::info("later");
    printed += text_in(pipe_ends[0]);
    CHECK((fcntl(pipe_ends[1], F_GETFL) & O_NONBLOCK) == 0);  // the description is shared with others
  }
  std::string expected;
  for (int i = 0; i < 32; ++i) expected += std::string(127, 'x') + "\n";
  CHECK(printed == expected + "warning: 68 lines were dropped: stderr took no more\nlater\n");
  for (const int end : pipe_ends) close(end);
}

TEST_CASE("a terminal that is stopped with control-S does not stop the process") {
  int master = -1;
  int slave = -1;
  REQUIRE(openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const OtherStderr other(slave);
  REQUIRE(tcflow(slave, TCOOFF) == 0);
  log::info("lost");
  log::draw("a picture");
  CHECK(text_in(master).empty());
  REQUIRE(tcflow(slave, TCOON) == 0);
  log::info("seen");
  const std::string text = text_in(master);
  INFO(text);
  CHECK(contains(text, "1 line was dropped"));
  CHECK(contains(text, "seen"));
  CHECK_FALSE(contains(text, "lost"));
  for (const int end : {master, slave}) close(end);
}

}  // namespace ddp
