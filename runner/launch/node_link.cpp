#include "launch/node_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <sstream>

#include "launch/address.h"

namespace ddp::launch {
namespace {

// The longest is an experiment. More than this comes from no one we know.
constexpr std::size_t kLongestMessage = 16 << 20;

bool is_message(const config::Value& value) {
  return value.is_object() && value.contains("type") && value.at("type").is_string();
}

}  // namespace

std::string in_seconds(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

NodeLink::NodeLink(FileDescriptor socket) : socket_(std::move(socket)), peer_(peer_ip(socket_.get())) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void NodeLink::send(const config::Value& message) {
  out_ += message.dump(-1, ' ', false, config::Value::error_handler_t::replace) + '\n';
  flush();
}

void NodeLink::flush() {
  while (!closed_ && !out_.empty()) {
    const ssize_t size = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    // The end shows when reading, after what came before it.
    if (size < 0) return out_.clear();
    out_.erase(0, static_cast<std::size_t>(size));
  }
}

void NodeLink::read_all() {
  char piece[65536];
  while (!closed_) {
    const ssize_t size = recv(socket_.get(), piece, sizeof piece, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size <= 0) {
      closed_ = true;
      return;
    }
    last_heard_ = Clock::now();
    in_.append(piece, static_cast<std::size_t>(size));
    for (std::size_t end; (end = in_.find('\n')) != std::string::npos; in_.erase(0, end + 1)) {
      auto message = config::Value::parse(in_.substr(0, end), nullptr, /*allow_exceptions=*/false);
      closed_ = closed_ || !is_message(message);
      if (!closed_) waiting_.push_back(std::move(message));
    }
    closed_ = closed_ || in_.size() > kLongestMessage;
  }
}

std::vector<config::Value> NodeLink::receive() {
  read_all();
  return std::exchange(waiting_, {});
}

void NodeLink::end_sending() {
  flush();
  shutdown(socket_.get(), SHUT_WR);
}

void NodeLink::wait_for_end(Clock::time_point deadline) {
  for (;;) {
    read_all();
    waiting_.clear();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (closed_ || left.count() <= 0) return;
    pollfd ready{socket_.get(), POLLIN, 0};
    poll(&ready, 1, static_cast<int>(left.count()));
  }
}

config::Value NodeLink::wait(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    flush();
    read_all();
    if (!waiting_.empty()) {
      config::Value message = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      return message;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (closed_ || left.count() <= 0) return nullptr;
    pollfd ready{socket_.get(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&ready, 1, static_cast<int>(left.count()));
  }
}

}  // namespace ddp::launch
