#include "launch/run/reply_pipe.h"

#include <poll.h>
#include <unistd.h>
#include <cerrno>

#include "launch/process/stop_signals.h"

namespace ddp::launch {
namespace {

// Replies are printed. Signals are blocked while ranks run, so a write that waits for its reader would leave this
// process deaf: meanwhile a stop signal ends it, and its ranks with it. Nothing is to be saved.
void wait_for_stdout() {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&out, 1, 0) != 0) return;
  const sigset_t set = stop_signal_set();
  sigset_t before;
  sigprocmask(SIG_UNBLOCK, &set, &before);
  while (poll(&out, 1, -1) < 0 && errno == EINTR) {
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void ReplyPipe::write(const config::Value& reply) const {
  const std::string line = reply.dump(-1, ' ', false, config::Value::error_handler_t::replace) + "\n";
  write_all(pipe_.to.get(), line.data(), line.size(), "pipe");
}

bool ReplyPipe::read(const std::function<void(const config::Value&)>& take) {
  pipe_.to.close();
  char piece[4096];
  ssize_t size = 0;
  while ((size = ::read(pipe_.from.get(), piece, sizeof piece)) > 0) {
    text_.append(piece, static_cast<std::size_t>(size));
    for (std::size_t end; (end = text_.find('\n')) != std::string::npos;) {
      wait_for_stdout();
      take(config::Value::parse(text_.substr(0, end)));
      text_.erase(0, end + 1);
    }
  }
  return size < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace ddp::launch
