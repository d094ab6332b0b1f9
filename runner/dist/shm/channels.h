#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "dist/shm/segment.h"

namespace ddp::dist {

// A message that is being sent or awaited. `owner` keeps `data` alive until the transfer is done.
struct Transfer {
  int peer = 0;  // kAnyRank until a message from any rank has arrived
  int tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<void> owner;
  std::size_t moved = 0;  // bytes sent so far, including the header
  bool done = false;
};

// Messages between two ranks. For each pair of sender and receiver, the segment has a ring buffer that the sender
// writes and the receiver reads. Only wait() waits. A message that does not fit into the ring continues whenever its
// sender waits for anything in the segment.
class SharedChannels {
 public:
  static constexpr int kAnyRank = -1;

  explicit SharedChannels(SharedSegment& segment);

  // Messages from one rank with the same tag arrive in the order they were sent.
  std::shared_ptr<Transfer> send(int to, int tag, const std::byte* data, std::size_t bytes,
                                 std::shared_ptr<void> owner);
  // Throws ddp::Error (training), here or in a later call, if the message that arrives has another size.
  std::shared_ptr<Transfer> receive(int from, int tag, std::byte* data, std::size_t bytes, std::shared_ptr<void> owner);
  void wait(const Transfer& transfer, const Call& call);

  // Moves all bytes that can move now. Returns whether a transfer is unfinished.
  bool progress();

 private:
  struct Header {
    std::uint64_t bytes;
    std::int64_t tag;
  };
  struct Ring;
  // A message from a rank, with or without a receive() for it.
  struct Message {
    int from;
    Header header;
    std::vector<std::byte> kept;       // the bytes, if no receive() was waiting when it arrived
    std::shared_ptr<Transfer> wanted;  // the receive() that takes the message
    std::size_t moved = 0;
    bool whole() const { return moved == header.bytes; }
    std::byte* data() { return wanted && kept.empty() ? wanted->data : kept.data(); }
  };

  Ring ring(int from, int to) const;
  bool push(int to);
  void pull(int from);
  bool begin_message(int from, Ring& ring);
  void claim(Message& message, const std::shared_ptr<Transfer>& transfer);
  void deliver(Message& message);

  SharedSegment& segment_;
  std::vector<std::deque<std::shared_ptr<Transfer>>> outgoing_;  // by rank
  std::list<std::shared_ptr<Transfer>> awaited_;                 // receives without a message
  std::list<Message> came_;                                      // arriving or arrived, not yet delivered
  std::vector<Message*> coming_;                                 // by rank: the message whose bytes are in its ring
};

}  // namespace ddp::dist
