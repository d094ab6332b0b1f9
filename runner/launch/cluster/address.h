#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::launch {

// An address as others reach it: numbers, never a name.
struct Address {
  std::string ip;
  std::uint16_t port = 0;

  std::string text() const;  // "10.0.0.1:8888", "[fe80::1]:8888"
};

// Looks a host's name up, IPv4 first. Throws ddp::Error (usage).
Address resolve(const std::string& host, std::uint16_t port);

// A socket that listens on this address alone; port 0: one that the kernel chose, which `address` then says.
// Throws ddp::Error (usage) where the address is not this machine's or is taken.
FileDescriptor listen_on(Address& address);

// A connection, non-blocking; an invalid descriptor where nobody listens there (yet). Waits at most `patience`.
FileDescriptor connect_to(const Address& address, std::chrono::milliseconds patience);

// This machine's address on the way to that one. Sends nothing. Throws ddp::Error (training) where there is no way.
std::string own_ip_towards(const Address& address);

// This machine's first address that others reach; loopback where it has none.
std::string outward_ip();

// The other end of a connection: its IP.
std::string peer_ip(int socket);

}  // namespace ddp::launch
