#include "dist/shm/segment.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include "base/error.h"
#include "base/limits.h"
#include "base/shared_memory.h"
#include "dist/peers.h"

namespace ddp::dist {
namespace {

using Clock = std::chrono::steady_clock;

// The interval in which a sleeping rank checks whether late ranks still live.
constexpr std::chrono::milliseconds kLook{20};
// An idle core takes about 50 us to wake up, so ranks of about equal speed should not sleep at all.
constexpr std::chrono::microseconds kOffer{2000};
constexpr int kSpins = 500;  // about 10 us

constexpr std::size_t kCallsRemembered = 4;

// Distinguishes the calls that share a place, in the bits above the signature.
std::uint64_t round_of(std::uint64_t call_number) {
  return call_number / kCallsRemembered << SharedSegment::kSignatureBits;
}

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::size_t whole_pages(std::size_t bytes) { return bytes / kPage * kPage; }

}  // namespace

void SharedCounter::set(std::uint32_t to) {
  value.store(to);
  // Both sides first write and then read, sequentially consistent: either this rank sees the sleeper, or the sleeper
  // sees the new value.
  if (sleepers.load() > 0) syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedCounter::sleep(std::uint32_t seen, std::chrono::milliseconds longest) {
  const timespec time{.tv_sec = longest.count() / 1000, .tv_nsec = longest.count() % 1000 * 1000000};
  sleepers.fetch_add(1);
  // The kernel compares again and does not sleep if the value has changed.
  if (value.load() == seen) syscall(SYS_futex, &value, FUTEX_WAIT, seen, &time, nullptr, 0);
  sleepers.fetch_sub(1);
}

// Aligned to its own cache lines, because other ranks poll it.
struct alignas(128) SharedSegment::Line {
  SharedCounter points;
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint64_t> calls[kCallsRemembered] = {};
  std::atomic<std::uint64_t> place{0};  // offset plus one; 0: none
};

SharedSegment::SharedSegment(void* memory, std::size_t bytes, int rank, int world_size, int first_rank,
                             record::RankProgress& progress)
    : memory_(static_cast<std::byte*>(memory)),
      rank_(rank),
      world_size_(world_size),
      first_rank_(first_rank),
      progress_(progress),
      processes_(world_size) {
  const auto world = static_cast<std::size_t>(world_size);
  const std::size_t lines = in_pages(sizeof(Line) * world);
  const std::size_t for_rank = bytes > lines ? (bytes - lines) / world : 0;
  slot_bytes_ = std::min(kSlotBytes, whole_pages(for_rank / kSlots));
  if (slot_bytes_ == 0) {
    throw training_error("too little shared memory for " + std::to_string(world_size) + " ranks");
  }
  // If ranks share cores, a spinning rank takes time from the rank that it waits for.
  const bool crowded = world_size > usable_cores();
  spins_ = crowded ? 0 : kSpins;
  yield_ = crowded ? kOffer / 20 : kOffer;
}

SharedSegment::Line& SharedSegment::line(int rank) const { return reinterpret_cast<Line*>(memory_)[rank]; }

std::byte* SharedSegment::slot(int rank, int index) const {
  const auto world = static_cast<std::size_t>(world_size_);
  const std::size_t lines = in_pages(sizeof(Line) * world);
  return memory_ + lines + (static_cast<std::size_t>(rank) * kSlots + static_cast<std::size_t>(index)) * slot_bytes_;
}

std::string SharedSegment::name(const std::vector<int>& ranks) const {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? " " : ", ") + std::to_string(first_rank_ + ranks[i]);
  return text;
}

void SharedSegment::join() { line(rank_).process = getpid(); }

SharedSegment::Point SharedSegment::post(std::uint32_t points) {
  posted_ += points;
  line(rank_).points.set(static_cast<std::uint32_t>(posted_));
  return posted_;
}

void SharedSegment::announce(std::uint64_t call_number, std::uint64_t signature) {
  line(rank_).calls[call_number % kCallsRemembered].store(round_of(call_number) | signature, std::memory_order_relaxed);
}

std::optional<std::uint64_t> SharedSegment::announced(int rank, std::uint64_t call_number) const {
  const std::uint64_t told = line(rank).calls[call_number % kCallsRemembered].load(std::memory_order_relaxed);
  if (told >> kSignatureBits << kSignatureBits != round_of(call_number)) return {};
  return told & ((std::uint64_t{1} << kSignatureBits) - 1);
}

void SharedSegment::announce_place(std::optional<std::size_t> place) {
  line(rank_).place.store(place ? *place + 1 : 0, std::memory_order_relaxed);
}

std::optional<std::size_t> SharedSegment::announced_place(int rank) const {
  const std::uint64_t told = line(rank).place.load(std::memory_order_relaxed);
  return told == 0 ? std::nullopt : std::optional<std::size_t>(told - 1);
}

template <class Ready>
bool SharedSegment::spin(const Ready& ready) const {
  for (int i = 0; i < spins_; ++i) {
    if (ready()) return true;
    pause_processor();
  }
  const auto end = Clock::now() + yield_;
  do {
    if (ready()) return true;
    sched_yield();
  } while (Clock::now() < end);
  return ready();
}

template <class Ready>
void SharedSegment::sleep(SharedCounter& counter, const Ready& ready, Point point, const Call& call) {
  const auto deadline = Clock::now() + call.timeout;
  while (true) {
    const std::uint32_t seen = counter.value.load();
    if (ready()) return;
    counter.sleep(seen, kLook);
    if (ready()) return;
    // Any rank that has not reached this point may block the awaited rank.
    const std::vector<int> missing = behind(point);
    for (const int r : missing) {
      // Check again: the rank may have reached the point before its end.
      if (!has_ended(r) || ready()) continue;
      throw PeerLost(name({r}) + " is gone, its process has ended: " + name({rank_}) + " waited for it in " +
                     call.name);
    }
    if (Clock::now() < deadline || ready()) continue;
    throw PeerLate("Timed out waiting " + std::to_string(call.timeout.count()) + "ms for " + name(missing) +
                       ", not arrived at " + call.name,
                   name({rank_}), "see distributed.timeout");
  }
}

void SharedSegment::await(int rank, Point point, const Call& call) {
  SharedCounter& counter = line(rank).points;
  const auto ready = [&] { return reached(counter.value.load(std::memory_order_acquire), point); };
  if (ready()) return;
  const record::RankWait wait(progress_);
  if (!spin(ready)) sleep(counter, ready, point, call);
}

void SharedSegment::await_all(Point point, const Call& call) {
  if (point <= all_reached_) return;
  for (int r = 0; r < world_size_; ++r) {
    if (r != rank_) await(r, point, call);
  }
  all_reached_ = point;
}

std::vector<int> SharedSegment::behind(Point point) const {
  std::vector<int> ranks;
  for (int r = 0; r < world_size_; ++r) {
    if (!reached(line(r).points.value.load(), point)) ranks.push_back(r);
  }
  return ranks;
}

bool SharedSegment::has_ended(int rank) {
  const pid_t process = line(rank).process;
  if (process == 0 || rank == rank_) return false;  // not started yet: its parent checks
  FileDescriptor& handle = processes_[static_cast<std::size_t>(rank)];
  if (!handle) {
    handle = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    // Without pidfd support in the kernel, only the timeout remains.
    if (!handle) return errno == ESRCH;
  }
  pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 0) == 1;
}

}  // namespace ddp::dist
