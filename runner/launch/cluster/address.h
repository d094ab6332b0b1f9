#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::launch {

// An address as other machines reach it: numeric, never a name.
struct Address {
  std::string ip;
  std::uint16_t port = 0;

  std::string text() const;  // "10.0.0.1:8888", "[fe80::1]:8888"
};

// Looks up a host name, IPv4 first. Throws ddp::Error (usage).
Address resolve(const std::string& host, std::uint16_t port);

// Returns a socket that listens on this address alone. With port 0 the kernel chooses the port, and `address` receives
// it. Throws ddp::Error (usage) if the address is not this machine's or is in use.
FileDescriptor listen_on(Address& address);

// Returns a non-blocking connection; an invalid descriptor if nothing listens there (yet). Waits at most `patience`.
FileDescriptor connect_to(const Address& address, std::chrono::milliseconds patience);

// Returns this machine's address on the route to `address`. Sends nothing. Throws ddp::Error (training) without a
// route.
std::string own_ip_towards(const Address& address);

// Returns this machine's first address that other machines reach; loopback if it has none.
std::string outward_ip();

// Returns the IP of the other end of a connection.
std::string peer_ip(int socket);

}  // namespace ddp::launch
