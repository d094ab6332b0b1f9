#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "dist/shm/page.h"

namespace ddp::dist {

// A message on its way, or awaited. `data` has to last until it is done: `owner` sees to that.
struct Transfer {
  int peer = 0;  // kAnyRank until a message from any rank has come
  int tag = 0;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<void> owner;
  std::size_t moved = 0;  // so far, with the header that goes before a message
  bool done = false;
};

// Messages between two ranks: from each to each a ring of bytes in the page, which one writes and the other reads.
// Nothing waits but wait(): a message that does not fit goes on whenever its sender waits for anything in the page.
class SharedChannels {
 public:
  static constexpr int kAnyRank = -1;

  explicit SharedChannels(SharedPage& page);

  // Messages from one rank with one tag come in the order they were sent.
  std::shared_ptr<Transfer> send(int to, int tag, const std::byte* data, std::size_t bytes,
                                 std::shared_ptr<void> owner);
  // Throws ddp::Error (training), here or later, where the message that comes is of another size.
  std::shared_ptr<Transfer> receive(int from, int tag, std::byte* data, std::size_t bytes, std::shared_ptr<void> owner);
  void wait(const Transfer& transfer, const Call& call);

  // Moves what can be moved; is anything left that has to be?
  bool progress();

 private:
  struct Header {
    std::uint64_t bytes;
    std::int64_t tag;
  };
  struct Ring;
  // What comes from a rank, whether asked for or not.
  struct Message {
    int from;
    Header header;
    std::vector<std::byte> kept;       // nobody had asked for it when it came
    std::shared_ptr<Transfer> wanted;  // by
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

  SharedPage& page_;
  std::vector<std::deque<std::shared_ptr<Transfer>>> outgoing_;  // by rank
  std::list<std::shared_ptr<Transfer>> awaited_;                 // that no message has come for
  std::list<Message> came_;                                      // not yet delivered
  std::vector<Message*> coming_;                                 // by rank: the one whose bytes are in its ring
};

}  // namespace ddp::dist
