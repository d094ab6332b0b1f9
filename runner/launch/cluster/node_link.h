#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "config/value.h"

namespace ddp::launch {

// "1.5 s"
std::string in_seconds(std::chrono::milliseconds time);

// A connection between the parents of two nodes: one JSON object a line, each with a "type". Never blocks: what the
// network does not take yet waits here.
class NodeLink {
 public:
  using Clock = std::chrono::steady_clock;

  explicit NodeLink(FileDescriptor socket);

  void send(const config::Value& message);
  // Sends what waits; to be called now and then. On a link whose other end is gone it does nothing.
  void flush();

  // Nothing more will be sent: the other end sees that once it has read all.
  void end_sending();
  // Reads on until the other end is closed too, or until the deadline. A socket that is closed while something waits to
  // be read is reset, and what was sent last may be lost on its way.
  void wait_for_end(Clock::time_point deadline);

  // The messages that have come whole. What is no such object, or is too long, closes the link.
  std::vector<config::Value> receive();

  // The next message, within that time; null where none came or the link is closed.
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
