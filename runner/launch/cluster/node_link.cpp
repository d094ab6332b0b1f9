#include "launch/cluster/node_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/error.h"

namespace ddp::launch {
namespace {

// Debian maps a machine's own name to this address, which no other machine reaches.
constexpr const char* kDebiansOwnName = "127.0.1.1";
constexpr const char* kLoopback = "127.0.0.1";

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  std::uint16_t port() const {
    return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                               : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  std::string ip() const {
    char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";
    getnameinfo(get(), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    return text;
  }
};

// Looks up a name, IPv4 first, or an address. Returns nothing if it does not exist; then `error` is getaddrinfo's.
std::optional<SocketAddress> search(const std::string& host, std::uint16_t port, int& error) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  for (const int family : {AF_INET, AF_INET6}) {
    wanted.ai_family = family;
    error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
    if (error != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    SocketAddress found;
    std::memcpy(&found.storage, list->ai_addr, list->ai_addrlen);
    found.size = list->ai_addrlen;
    return found;
  }
  return {};
}

// The same. Throws ddp::Error (usage) if it does not exist.
SocketAddress look_up(const std::string& host, std::uint16_t port) {
  int error = 0;
  if (const auto found = search(host, port, error)) return *found;
  throw usage_error(std::string("cannot find this host: ") + gai_strerror(error), host);
}

// Returns the address as other machines reach it. Throws ddp::Error (usage) if none is a machine's.
Address outward(const SocketAddress& found, const std::string& host, std::uint16_t port) {
  std::string ip = found.ip();
  if (ip == "0.0.0.0" || ip == "::") {
    throw usage_error("stands for all addresses of a machine, and is none to meet at", host);
  }
  if (ip == kDebiansOwnName) ip = outward_ip();
  return {.ip = ip, .port = port};
}

bool wait_until_connected(int socket, std::chrono::milliseconds patience) {
  pollfd ready{socket, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(patience.count())) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// The longest message is an experiment. A longer line comes from an unknown program.
constexpr std::size_t kLongestMessage = 16 << 20;
// Limits one read: a sender that never stops gets no more time and no more memory.
constexpr std::size_t kMostAtOnce = 1 << 20;

}  // namespace

std::string Address::text() const {
  const bool ipv6 = ip.find(':') != std::string::npos;
  return (ipv6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

Address resolve(const std::string& host, std::uint16_t port) { return outward(look_up(host, port), host, port); }

std::optional<Address> resolve_if_known(const std::string& host, std::uint16_t port) {
  if (host.find(':') != std::string::npos) return resolve(host, port);  // no name has a colon
  int error = 0;
  const auto found = search(host, port, error);
  return found ? std::optional(outward(*found, host, port)) : std::nullopt;
}

// A socket cannot be bound to another machine's address.
bool is_of_this_machine(const Address& address) {
  const SocketAddress own = look_up(address.ip, 0);
  const FileDescriptor tried(socket(own.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return tried && bind(tried.get(), own.get(), own.size) == 0;
}

FileDescriptor listen_on(Address& address) {
  SocketAddress bound = look_up(address.ip, address.port);
  FileDescriptor listener(socket(bound.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (listener && address.port != 0) setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!listener || bind(listener.get(), bound.get(), bound.size) != 0 || listen(listener.get(), SOMAXCONN) != 0 ||
      getsockname(listener.get(), bound.get(), &bound.size) != 0) {
    throw usage_error("cannot listen: " + errno_text(errno), address.text());
  }
  address.port = bound.port();
  return listener;
}

FileDescriptor connect_to(const Address& address, std::chrono::milliseconds patience) {
  const SocketAddress there = look_up(address.ip, address.port);
  FileDescriptor connection(socket(there.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection) throw training_error("cannot make a socket: " + errno_text(errno));
  const int yes = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(connection.get(), there.get(), there.size) == 0) return connection;
  if (errno != EINPROGRESS || !wait_until_connected(connection.get(), patience)) return {};
  return connection;
}

std::string own_ip_towards(const Address& address) {
  // Connecting a datagram socket only chooses a route.
  const SocketAddress there = look_up(address.ip, address.port);
  const FileDescriptor probe(socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress own;
  if (!probe || connect(probe.get(), there.get(), there.size) != 0 ||
      getsockname(probe.get(), own.get(), &own.size) != 0) {
    throw training_error("cannot be reached: " + errno_text(errno), address.text());
  }
  return own.ip();
}

std::string outward_ip() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return kLoopback;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    if ((i->ifa_flags & IFF_LOOPBACK) != 0 || (i->ifa_flags & IFF_UP) == 0) continue;
    SocketAddress address{.size = sizeof(sockaddr_in)};
    std::memcpy(&address.storage, i->ifa_addr, address.size);
    return address.ip();
  }
  return kLoopback;
}

std::string peer_ip(int socket) {
  SocketAddress peer;
  return getpeername(socket, peer.get(), &peer.size) == 0 ? peer.ip() : "?";
}

std::string in_seconds(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

NodeLink::NodeLink(FileDescriptor socket) : socket_(std::move(socket)), peer_(peer_ip(socket_.get())) {
  fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void NodeLink::send(const message::Any& message) {
  out_ += message::line_of(message);
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
    std::optional<message::Any> message = message::read_line(std::string_view(in_).substr(begin, end - begin));
    closed_ = !message;
    if (message) waiting_.push_back(*std::move(message));
    begin = end + 1;
  }
  in_.erase(0, begin);
}

std::vector<message::Any> NodeLink::receive() {
  read_all();
  return std::exchange(waiting_, {});
}

void NodeLink::end_sending() {
  flush();
  shutdown(socket_.get(), SHUT_WR);
}

void NodeLink::wait_for_end(Clock::time_point deadline) {
  while (!closed_ && Clock::now() < deadline) {
    wait(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
  }
}

std::optional<message::Any> NodeLink::wait(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (;;) {
    flush();
    read_all();
    if (!waiting_.empty()) {
      message::Any message = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      return message;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (closed_ || left.count() <= 0) return {};
    pollfd ready{socket_.get(), static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&ready, 1, static_cast<int>(left.count()));
  }
}

}  // namespace ddp::launch
