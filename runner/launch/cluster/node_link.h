#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/cluster/messages.h"

namespace ddp::launch {

// An address as other machines reach it: numeric, never a name.
struct Address {
  std::string ip;
  std::uint16_t port = 0;

  std::string text() const;  // "10.0.0.1:8888", "[fe80::1]:8888"
};

// Looks up a host name, IPv4 first. Throws ddp::Error (usage).
Address resolve(const std::string& host, std::uint16_t port);

// The same; nothing if no name server knows the name: a cluster names its machines as it starts them.
std::optional<Address> resolve_if_known(const std::string& host, std::uint16_t port);

// Returns whether this machine has the address.
bool is_of_this_machine(const Address& address);

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

// "1.5 s"
std::string in_seconds(std::chrono::milliseconds time);

// A connection between the parents of two nodes (messages.h). Never blocks: data that the network does not accept yet
// waits here.
class NodeLink {
 public:
  using Clock = std::chrono::steady_clock;

  explicit NodeLink(FileDescriptor socket);

  void send(const message::Any& message);
  // Sends waiting data; call it regularly. Does nothing if the other end is closed.
  void flush();

  // Closes the sending half: the other end sees the end once it has read all.
  void end_sending();
  // Reads until the other end is closed, too, or until the deadline. If a socket is closed while unread data wait in
  // it, the kernel resets the connection, and the last message sent may be lost.
  void wait_for_end(Clock::time_point deadline);

  // Returns the complete messages received. A line that is no message, or is too long, closes the link.
  std::vector<message::Any> receive();

  // Returns the next message within that time; nothing if none came or the link is closed.
  std::optional<message::Any> wait(std::chrono::milliseconds patience);

  bool closed() const { return closed_; }
  int descriptor() const { return socket_.get(); }
  const std::string& peer() const { return peer_; }
  Clock::duration silence() const { return Clock::now() - last_heard_; }
  // Counts the silence from now on: the other end had nothing to say before.
  void expect_words() { last_heard_ = Clock::now(); }

 private:
  void read_all();
  void take_lines(std::size_t searched);

  FileDescriptor socket_;
  std::string peer_;
  std::string in_;
  std::string out_;
  std::vector<message::Any> waiting_;
  bool closed_ = false;
  Clock::time_point last_heard_ = Clock::now();
};

}  // namespace ddp::launch
