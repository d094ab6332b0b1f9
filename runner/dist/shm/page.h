#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp::dist {

// An empty tensor's bytes may be nowhere, and that memcpy must not be given.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0) std::memcpy(to, from, size);
}

// What the waits of one collective are for: the words of their errors, and how long they may take.
struct Call {
  const char* name = "";
  std::chrono::milliseconds timeout{600000};
};

// A number in shared memory that only grows, and that others wait for.
struct SharedCounter {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  // Wakes those who sleep for it. One rank alone sets a counter.
  void set(std::uint32_t to);
  // The same for a counter that several ranks add to.
  void add_one();
  // Sleeps until it is no longer `seen`, for about as long as said, or shorter.
  void sleep(std::uint32_t seen, std::chrono::milliseconds longest);

 private:
  void wake();
};

// Counters wrap around: which of two is later is told by their distance.
inline bool reached(std::uint32_t value, std::uint64_t point) {
  return static_cast<std::int32_t>(value - static_cast<std::uint32_t>(point)) >= 0;
}

// The memory that the ranks of one machine share, mapped by their parent before it forked them and all zeros at
// first: for each rank a line of progress, which others wait for, and slots and channels for data.
//
// A rank's progress is a count of points. All ranks take part in the same collectives in the same order and pass the
// same points, so that "rank 1 has reached point 70" says what it has written and what it has read.
class SharedPage {
 public:
  // Never comes round, as the counters do: a point of long ago is one that was reached.
  using Point = std::uint64_t;

  static constexpr int kSlots = 3;
  // A slot fits the cache of a core. Where there is less memory, it is smaller (see slot_bytes).
  static constexpr std::size_t kSlotBytes = 256u << 10;

  // `first_rank`: what errors call rank 0, which is another one among all machines.
  SharedPage(void* memory, std::size_t bytes, int rank, int world_size, int first_rank);
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  // For people: "rank 5", "ranks 4, 5".
  std::string name(const std::vector<int>& ranks) const;

  // Tells the others who this rank is. Before its first wait.
  void join();

  // Passes so many points and returns the number of the last: what this rank wrote before, others may read. Others must
  // have passed all before them, where they are more than one.
  Point post(std::uint32_t points = 1);
  Point posted() const { return posted_; }

  // Each returns when that rank, or every rank, has reached the point. Throws ddp::Error (training) when the time is
  // over, which names the ranks that are late, or when the process of one that is late has ended.
  void await(int rank, Point point, const Call& call);
  void await_all(Point point, const Call& call);

  // Returns once `ready`, which others bring about before they ring this rank. `late`: the rank it depends on; -1:
  // any may do it. Throws as the other waits do.
  void await_bell(const std::function<bool()>& ready, int late, const Call& call);
  void ring(int rank);

  // What this rank's collective is, in kSignatureBits, for the others to compare; told once the call's first point is
  // posted. A rank that is several calls ahead has taken back what it said of this one: nothing.
  static constexpr int kSignatureBits = 56;
  void announce(std::uint64_t call_number, std::uint64_t signature);
  std::optional<std::uint64_t> announced(int rank, std::uint64_t call_number) const;

  // Where this rank's data of a call are in the arena, or that they are elsewhere; for the others once this rank has
  // passed another point of that call, until it begins the next.
  void announce_place(std::optional<std::size_t> place);
  std::optional<std::size_t> announced_place(int rank) const;

  std::size_t slot_bytes() const { return slot_bytes_; }
  std::byte* slot(int rank, int index) const;
  // The memory for what `from` sends to `to`.
  std::size_t channel_bytes() const { return channel_bytes_; }
  std::byte* channel(int from, int to) const;

  // Called now and then while this rank waits for points; false: there is nothing to do for now.
  void set_meanwhile(std::function<bool()> work) { meanwhile_ = std::move(work); }

 private:
  struct Line;
  using LateRanks = std::function<std::vector<int>()>;

  Line& line(int rank) const;
  template <class Ready>
  bool spin(const Ready& ready);
  template <class Ready>
  void sleep(SharedCounter& counter, const Ready& ready, const LateRanks& late, const Call& call);
  bool work_meanwhile() { return meanwhile_ && meanwhile_(); }
  std::vector<int> behind(Point point) const;
  bool has_ended(int rank);

  std::byte* const memory_;
  const int rank_;
  const int world_size_;
  const int first_rank_;
  std::size_t slot_bytes_;
  std::size_t channel_bytes_;
  int spins_;                        // of the processor, before anything else is tried
  std::chrono::microseconds yield_;  // then this long the core is offered to others before the rank sleeps
  Point posted_ = 0;
  Point all_reached_ = 0;                  // a point that every rank is known to have reached
  std::vector<FileDescriptor> processes_;  // by rank, from the first time it was late
  std::function<bool()> meanwhile_;
};

}  // namespace ddp::dist
