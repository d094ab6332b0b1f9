#include "dist/shm/channels.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace ddp::dist {

// A ring buffer with one writer and one reader. Each counts the bytes that it has moved.
struct SharedChannels::Ring {
  struct Counts {
    alignas(64) std::atomic<std::uint64_t> written{0};
    alignas(64) std::atomic<std::uint64_t> read{0};
  };
  Counts* counts;
  std::byte* bytes;
  std::size_t capacity;

  std::size_t filled() const { return counts->written.load() - counts->read.load(); }

  // write() and read() return the number of bytes that fitted or were available.
  std::size_t write(const std::byte* from, std::size_t size) {
    size = std::min(size, capacity - filled());
    const std::size_t at = counts->written.load() % capacity;
    const std::size_t first = std::min(size, capacity - at);
    copy_bytes(bytes + at, from, first);
    copy_bytes(bytes, from + first, size - first);
    counts->written.fetch_add(size);
    return size;
  }
  std::size_t read(std::byte* to, std::size_t size) {
    size = std::min(size, filled());
    const std::size_t at = counts->read.load() % capacity;
    const std::size_t first = std::min(size, capacity - at);
    copy_bytes(to, bytes + at, first);
    copy_bytes(to + first, bytes, size - first);
    counts->read.fetch_add(size);
    return size;
  }
};

SharedChannels::SharedChannels(SharedSegment& segment)
    : segment_(segment), outgoing_(segment.world_size()), coming_(segment.world_size(), nullptr) {}

SharedChannels::Ring SharedChannels::ring(int from, int to) const {
  std::byte* memory = segment_.channel(from, to);
  return {.counts = reinterpret_cast<Ring::Counts*>(memory),
          .bytes = memory + sizeof(Ring::Counts),
          .capacity = segment_.channel_bytes() - sizeof(Ring::Counts)};
}

std::shared_ptr<Transfer> SharedChannels::send(int to, int tag, const std::byte* data, std::size_t bytes,
                                               std::shared_ptr<void> owner) {
  // The const_cast is safe: a send only reads the data.
  auto* source = const_cast<std::byte*>(data);
  auto transfer = std::make_shared<Transfer>(
      Transfer{.peer = to, .tag = tag, .data = source, .bytes = bytes, .owner = std::move(owner)});
  outgoing_.at(to).push_back(transfer);
  progress();
  return transfer;
}

std::shared_ptr<Transfer> SharedChannels::receive(int from, int tag, std::byte* data, std::size_t bytes,
                                                  std::shared_ptr<void> owner) {
  auto transfer = std::make_shared<Transfer>(
      Transfer{.peer = from, .tag = tag, .data = data, .bytes = bytes, .owner = std::move(owner)});
  for (Message& message : came_) {
    if (message.wanted || message.header.tag != tag || (from != kAnyRank && message.from != from)) continue;
    claim(message, transfer);
    if (message.whole()) deliver(message);
    return transfer;
  }
  awaited_.push_back(transfer);
  progress();
  return transfer;
}

void SharedChannels::wait(const Transfer& transfer, const Call& call) {
  const auto done = [&] {
    progress();
    return transfer.done;
  };
  segment_.await_bell(done, transfer.peer, call);
}

bool SharedChannels::progress() {
  bool left = !awaited_.empty();
  for (int r = 0; r < segment_.world_size(); ++r) {
    pull(r);
    left = push(r) || left;
  }
  return left;
}

bool SharedChannels::push(int to) {
  auto& queue = outgoing_[to];
  if (queue.empty()) return false;
  Ring out = ring(segment_.rank(), to);
  std::size_t moved = 0;
  while (!queue.empty()) {
    Transfer& t = *queue.front();
    if (t.moved < sizeof(Header)) {
      if (out.capacity - out.filled() < sizeof(Header)) break;
      const Header header{.bytes = t.bytes, .tag = t.tag};
      t.moved = out.write(reinterpret_cast<const std::byte*>(&header), sizeof header);
      moved += t.moved;
    }
    const std::size_t sent = t.moved - sizeof(Header);
    const std::size_t size = out.write(t.data + sent, t.bytes - sent);
    t.moved += size;
    moved += size;
    if (t.moved < sizeof(Header) + t.bytes) break;
    t.done = true;
    queue.pop_front();
  }
  if (moved > 0) segment_.ring(to);
  return !queue.empty();
}

void SharedChannels::pull(int from) {
  Ring in = ring(from, segment_.rank());
  bool moved = false;
  while (coming_[from] != nullptr || begin_message(from, in)) {
    Message& message = *coming_[from];
    const std::size_t size = in.read(message.data() + message.moved, message.header.bytes - message.moved);
    message.moved += size;
    moved = moved || size > 0;
    if (!message.whole()) break;
    coming_[from] = nullptr;
    if (message.wanted) deliver(message);
    moved = true;
  }
  if (moved) segment_.ring(from);  // the ring has room again
}

bool SharedChannels::begin_message(int from, Ring& ring) {
  if (ring.filled() < sizeof(Header)) return false;
  Message message{.from = from, .header = {}, .kept = {}, .wanted = nullptr};
  ring.read(reinterpret_cast<std::byte*>(&message.header), sizeof(Header));
  const auto fits = [&](const std::shared_ptr<Transfer>& t) {
    return t->tag == message.header.tag && (t->peer == kAnyRank || t->peer == from);
  };
  const auto wanted = std::find_if(awaited_.begin(), awaited_.end(), fits);
  if (wanted != awaited_.end()) {
    claim(message, *wanted);
    awaited_.erase(wanted);
  } else {
    message.kept.resize(message.header.bytes);
  }
  came_.push_back(std::move(message));
  coming_[from] = &came_.back();
  return true;
}

void SharedChannels::claim(Message& message, const std::shared_ptr<Transfer>& transfer) {
  if (message.header.bytes != transfer->bytes) {
    throw training_error(segment_.name({message.from}) + " sent " + std::to_string(message.header.bytes) +
                         " bytes where " + segment_.name({segment_.rank()}) + " receives " +
                         std::to_string(transfer->bytes));
  }
  transfer->peer = message.from;
  message.wanted = transfer;
}

void SharedChannels::deliver(Message& message) {
  copy_bytes(message.wanted->data, message.kept.data(), message.kept.size());
  message.wanted->done = true;
  came_.remove_if([&](const Message& other) { return &other == &message; });
}

}  // namespace ddp::dist
