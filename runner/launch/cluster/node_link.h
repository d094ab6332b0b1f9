#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "config/value.h"

namespace ddp::launch {

// "1.5 s"
std::string in_seconds(std::chrono::milliseconds time);

// A connection between the parents of two nodes: one JSON object per line, each with a "type". Never blocks: data that
// the network does not accept yet waits here.
class NodeLink {
 public:
  using Clock = std::chrono::steady_clock;

  explicit NodeLink(FileDescriptor socket);

  void send(const config::Value& message);
  // Sends waiting data; call it regularly. Does nothing if the other end is closed.
  void flush();

  // Closes the sending half: the other end sees the end once it has read all.
  void end_sending();
  // Reads until the other end is closed, too, or until the deadline. If a socket is closed while unread data wait in
  // it, the kernel resets the connection, and the last message sent may be lost.
  void wait_for_end(Clock::time_point deadline);

  // Returns the complete messages received. A line that is not such an object, or is too long, closes the link.
  std::vector<config::Value> receive();

  // Returns the next message within that time; null if none came or the link is closed.
  config::Value wait(std::chrono::milliseconds patience);

  bool closed() const { return closed_; }
  int descriptor() const { return socket_.get(); }
  const std::string& peer() const { return peer_; }
  Clock::duration silence() const { return Clock::now() - last_heard_; }

 private:
  void read_all();
  void take_lines(std::size_t searched);

  FileDescriptor socket_;
  std::string peer_;
  std::string in_;
  std::string out_;
  std::vector<config::Value> waiting_;
  bool closed_ = false;
  Clock::time_point last_heard_ = Clock::now();
};

}  // namespace ddp::launch
