#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "record/shared_progress.h"

namespace ddp::dist {

// An empty tensor may have a null pointer, which memcpy does not allow.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0) std::memcpy(to, from, size);
}

// The call that waits: its name for errors, and its timeout.
struct Call {
  const char* name = "";
  std::chrono::milliseconds timeout{600000};
};

// A growing counter in shared memory that other ranks wait for.
struct SharedCounter {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  // Sets the counter and wakes its sleepers. Only one rank may set a counter.
  void set(std::uint32_t to);
  // Sleeps until the value is no longer `seen`, at most about `longest`; may wake up earlier.
  void sleep(std::uint32_t seen, std::chrono::milliseconds longest);
};

// Counters wrap around, so the sign of their distance tells which is later.
inline bool reached(std::uint32_t value, std::uint64_t point) {
  return static_cast<std::int32_t>(value - static_cast<std::uint32_t>(point)) >= 0;
}

// The shared memory of the ranks of one node, mapped by their parent before it forked them, initially all zeros. Each
// rank has a line with its progress, which other ranks wait for, and slots for data.
//
// A rank's progress is a count of points. All ranks call the same collectives in the same order and pass the same
// points. So "rank 1 has reached point 70" tells what rank 1 has written and what it has read.
class SharedSegment {
 public:
  // Does not wrap around, unlike the counters, so a very old point counts as reached.
  using Point = std::uint64_t;

  static constexpr int kSlots = 3;
  // A slot fits the cache of a core. With less memory it is smaller (see slot_bytes).
  static constexpr std::size_t kSlotBytes = 256u << 10;

  // `first_rank`: the number of this group's rank 0 among the ranks of all nodes, for errors. `progress`: gets the time
  // of the waits.
  SharedSegment(void* memory, std::size_t bytes, int rank, int world_size, int first_rank,
                record::RankProgress& progress);
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  // For messages: "rank 5", "ranks 4, 5".
  std::string name(const std::vector<int>& ranks) const;

  // Publishes this rank's process id. Call before the first wait.
  void join();

  // Passes `points` points and returns the number of the last. Other ranks may then read all that this rank wrote
  // before. If `points` is more than one, the other ranks must have reached all earlier points.
  Point post(std::uint32_t points = 1);
  Point posted() const { return posted_; }

  // Wait until the given rank, or every rank, has reached the point. Throw ddp::Error (training) on timeout, with the
  // late ranks, or if the process of a late rank has ended.
  void await(int rank, Point point, const Call& call);
  void await_all(Point point, const Call& call);

  // announce() publishes this rank's call, in kSignatureBits, with the call's first point, so that other ranks can
  // compare it. announced() returns nullopt if the rank is several calls ahead and has replaced its announcement.
  static constexpr int kSignatureBits = 56;
  void announce(std::uint64_t call_number, std::uint64_t signature);
  std::optional<std::uint64_t> announced(int rank, std::uint64_t call_number) const;

  // The place of this rank's data of a call in the arena, or nullopt. Valid for other ranks from this rank's next point
  // in the call until its next call.
  void announce_place(std::optional<std::size_t> place);
  std::optional<std::size_t> announced_place(int rank) const;

  std::size_t slot_bytes() const { return slot_bytes_; }
  std::byte* slot(int rank, int index) const;

 private:
  struct Line;

  Line& line(int rank) const;
  template <class Ready>
  bool spin(const Ready& ready) const;
  template <class Ready>
  void sleep(SharedCounter& counter, const Ready& ready, Point point, const Call& call);
  std::vector<int> behind(Point point) const;
  bool has_ended(int rank);

  std::byte* const memory_;
  const int rank_;
  const int world_size_;
  const int first_rank_;
  record::RankProgress& progress_;
  std::size_t slot_bytes_;
  int spins_;                        // pause instructions before anything else
  std::chrono::microseconds yield_;  // how long the rank then yields its core before it sleeps
  Point posted_ = 0;
  Point all_reached_ = 0;                  // every rank has reached this point
  std::vector<FileDescriptor> processes_;  // pidfds by rank, opened when a rank is first late
};

}  // namespace ddp::dist
