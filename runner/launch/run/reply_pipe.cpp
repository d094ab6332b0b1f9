#include "launch/run/reply_pipe.h"

#include <unistd.h>
#include <cerrno>

namespace ddp::launch {

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
      take(config::Value::parse(text_.substr(0, end)));
      text_.erase(0, end + 1);
    }
  }
  return size < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace ddp::launch
