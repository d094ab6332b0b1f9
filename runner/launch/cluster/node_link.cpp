#include "launch/cluster/node_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <sstream>

#include "config/text/json_text.h"
#include "launch/cluster/address.h"

namespace ddp::launch {
namespace {

// The longest message is an experiment. A longer line comes from an unknown program.
constexpr std::size_t kLongestMessage = 16 << 20;
// Limits one read: a sender that never stops gets no more time and no more memory.
constexpr std::size_t kMostAtOnce = 1 << 20;

// Parses a message; null if the line is none.
config::Value read_message(std::string_view line) {
  try {
    config::Value value = config::parse_value(line);
    if (value.is_object() && value.contains("type") && value.at("type").is_string()) return value;
  } catch (const std::runtime_error&) {
  }
  return nullptr;
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
    // A read reports the closed connection, after the data that came before it.
    if (size < 0) return out_.clear();
    out_.erase(0, static_cast<std::size_t>(size));
  }
}

void NodeLink::read_all() {
  char piece[65536];
  for (std::size_t taken = 0; !closed_ && taken < kMostAtOnce;) {
    const ssize_t size = recv(socket_.get(), piece, sizeof piece, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (size <= 0) {
      closed_ = true;
      return;
    }
    last_heard_ = Clock::now();
    taken += static_cast<std::size_t>(size);
    const std::size_t searched = in_.size();
    in_.append(piece, static_cast<std::size_t>(size));
    take_lines(searched);
    closed_ = closed_ || in_.size() > kLongestMessage;
  }
}

// No line ends before `searched`.
void NodeLink::take_lines(std::size_t searched) {
  std::size_t begin = 0;
  for (std::size_t end; !closed_ && (end = in_.find('\n', std::max(begin, searched))) != std::string::npos;) {
    config::Value message = read_message(std::string_view(in_).substr(begin, end - begin));
    closed_ = message.is_null();
    if (!closed_) waiting_.push_back(std::move(message));
    begin = end + 1;
  }
  in_.erase(0, begin);
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
