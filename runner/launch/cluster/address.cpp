#include "launch/cluster/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <cstring>
#include <memory>

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

// Finds the name's first address of that family, including the port.
bool look_up(const std::string& host, std::uint16_t port, int family, SocketAddress& found, std::string& why) {
  addrinfo wanted{};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (error != 0) {
    why = gai_strerror(error);
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  std::memcpy(&found.storage, list->ai_addr, list->ai_addrlen);
  found.size = list->ai_addrlen;
  return true;
}

SocketAddress numeric(const Address& address) {
  SocketAddress found;
  std::string why;
  if (look_up(address.ip, address.port, AF_UNSPEC, found, why)) return found;
  throw usage_error("is not an address: " + why, address.text());
}

bool wait_until_connected(int socket, std::chrono::milliseconds patience) {
  pollfd ready{socket, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(patience.count())) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

std::string Address::text() const {
  const bool ipv6 = ip.find(':') != std::string::npos;
  return (ipv6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

Address resolve(const std::string& host, std::uint16_t port) {
  SocketAddress found;
  std::string why;
  if (!look_up(host, port, AF_INET, found, why) && !look_up(host, port, AF_INET6, found, why)) {
    throw usage_error("cannot find this host: " + why, host, "give its address, such as 10.0.0.1");
  }
  std::string ip = found.ip();
  if (ip == "0.0.0.0" || ip == "::") {
    throw usage_error("stands for all addresses of a machine, and is none to meet at", host,
                      "give one that the other machines reach, such as 10.0.0.1, or 127.0.0.1 on one machine");
  }
  if (ip == kDebiansOwnName) ip = outward_ip();
  return {.ip = ip, .port = port};
}

FileDescriptor listen_on(Address& address) {
  SocketAddress bound = numeric(address);
  FileDescriptor listener(socket(bound.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (listener && address.port != 0) setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!listener || bind(listener.get(), bound.get(), bound.size) != 0 || listen(listener.get(), SOMAXCONN) != 0 ||
      getsockname(listener.get(), bound.get(), &bound.size) != 0) {
    const int error = errno;
    throw usage_error(
        "cannot listen: " + errno_text(error), address.text(),
        error == EADDRINUSE      ? "is another node 0, or another program, there already? Give another --master-port"
        : error == EADDRNOTAVAIL ? "is this the machine that --master-addr names? Only node 0 listens there"
                                 : "");
  }
  address.port = bound.port();
  return listener;
}

FileDescriptor connect_to(const Address& address, std::chrono::milliseconds patience) {
  const SocketAddress there = numeric(address);
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
  const SocketAddress there = numeric(address);
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
    SocketAddress address;
    std::memcpy(&address.storage, i->ifa_addr, sizeof(sockaddr_in));
    address.size = sizeof(sockaddr_in);
    return address.ip();
  }
  return kLoopback;
}

std::string peer_ip(int socket) {
  SocketAddress peer;
  return getpeername(socket, peer.get(), &peer.size) == 0 ? peer.ip() : "?";
}

}  // namespace ddp::launch
