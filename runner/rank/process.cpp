#include "rank/process.h"

#include <malloc.h>
#include <future>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "dist/parallel/parallel.h"
#include "dist/waiting.h"

namespace ddp::rank {
namespace {

// "all_reduce in step 4"
std::string collective_in_words(const Task& t) {
  const auto& progress = t.progress->rank(t.rank);
  return std::string(record::to_string(progress.collective)) + " in " + record::current_step(progress);
}

// Returns the beginning of the error message of a rank that timed out and has no parent: which ranks stay away.
std::string who_stays_away(const Task& t, const dist::Groups& groups) {
  std::string ranks;
  for (const int rank : dist::absent_ranks(groups, t.rank)) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  return ranks.empty() ? "" : "waited for " + collective_in_words(t) + ", from which rank " + ranks + " stays away: ";
}

// The error of a rank without a parent that lost another rank. The text of the connection names no rank.
dist::PeerLost lost_rank(const Task& t, const dist::Groups& groups) {
  const dist::LostRank lost = groups.store ? dist::lost_rank(*groups.store, t.rank, t.world_size) : dist::LostRank();
  return dist::PeerLost("waited for " + collective_in_words(t) + ": " + lost.what, "", lost.remedy);
}

// LibTorch's pool of threads waits for ever for a thread that a limit keeps from starting. Here its start fails with an
// exception.
void require_threads(int count) {
  std::promise<void> all_started;
  const std::shared_future<void> end = all_started.get_future().share();
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([end] { end.wait(); });
  } catch (...) {
    all_started.set_value();
    throw;
  }
  all_started.set_value();
}

}  // namespace

c10::Device first_device(const Task& t) { return c10::Device(t.devices.front()); }

void prepare_process(const Task& t) {
  const auto& e = *t.experiment;
  const int threads = static_cast<int>(*e.threads);
  require_threads(threads - 1);
  at::set_num_threads(threads);
  at::globalContext().setDeterministicCuDNN(e.deterministic);
  at::globalContext().setBenchmarkCuDNN(!e.deterministic);
  if (e.tf32) {
    at::globalContext().setAllowTF32CuBLAS(*e.tf32);
    at::globalContext().setAllowTF32CuDNN(*e.tf32);
  }
  // Applies to this thread and the threads that it starts.
  if (!at::globalContext().setFlushDenormal(e.flush_denormal) && e.flush_denormal) {
    throw training_error("this CPU cannot treat denormal numbers as 0", "flush_denormal", "set it to false");
  }
  const c10::Device device = first_device(t);
  if (!device.is_cpu()) c10::impl::getDeviceGuardImpl(device.type())->setDevice(device);
  at::manual_seed(static_cast<std::uint64_t>(e.seed));
}

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

dist::Groups join_groups(const Task& t) {
  const auto& d = t.experiment->distributed;
  if (!dist::joins_group(t.experiment->parallel)) return {};
  t.progress->rank(t.rank).begin(record::CollectiveKind::joining);
  return dist::join_process_groups({.backend = d.backend,
                                    .rank = t.rank,
                                    .world_size = t.world_size,
                                    .ranks_here = t.ranks_here,
                                    .first_rank = t.first_rank,
                                    .device = t.devices.front(),
                                    .spread = t.devices.size() > 1,
                                    .meeting = t.meeting,
                                    .progress = t.progress->rank(t.rank),
                                    .timeout = std::chrono::milliseconds(static_cast<std::int64_t>(d.timeout * 1000)),
                                    // In its first step, a static graph waits for its sums before backward ends.
                                    .sums_may_wait = !d.static_graph,
                                    .stop_signal = t.watched ? nullptr : &t.progress->stop_signal()},
                                   /*control=*/!t.together);
}

void naming_absent_ranks(const Task& t, const dist::Groups& groups, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    if (t.watched) throw;
    const auto* c10_error = dynamic_cast<const c10::Error*>(&error);
    const std::string what = c10_error != nullptr ? c10_error->what_without_backtrace() : error.what();
    const dist::PeerTrouble peer = dist::peer_trouble(error);
    if (peer == dist::PeerTrouble::lost) throw lost_rank(t, groups);
    if (peer == dist::PeerTrouble::late) throw dist::PeerLate(who_stays_away(t, groups) + what);
    dist::note_end(groups, t.rank, what);
    throw;
  }
}

}  // namespace ddp::rank
