#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "dist/backends/backend.h"
#include "dist/watched_group.h"

namespace ddp::dist {
namespace {

c10::intrusive_ptr<SharedMemory> make_shared_memory(Membership m) {
  TORCH_CHECK(m.meeting.memory != nullptr, "shm needs ranks that were forked by one process");
  m.rank -= m.first_rank;
  m.world_size = m.ranks_here;
  return c10::make_intrusive<SharedMemory>(m);
}

// The group of one rank of each node, numbered like the nodes.
BackendPointer make_speakers(const StorePointer& store, Membership m) {
  if (m.rank != m.first_rank) return nullptr;
  m.rank = m.first_rank / m.ranks_here;
  m.world_size /= m.ranks_here;
  return make_gloo(c10::make_intrusive<c10d::PrefixStore>("speakers", store), m);
}

Group join_shm(const config::NoOptions&, const StorePointer& store, const Membership& m) {
  // Both calls wait for other ranks, so the order must be the same on all ranks.
  const auto machine = make_shared_memory(m);
  if (!store) {
    const auto group = c10::make_intrusive<SharedGroup>(machine, m.progress, m.sums_as_tree, m.rank, m.world_size);
    return Group(group.get(), [kept = group](c10d::ProcessGroup*) mutable { kept.reset(); });
  }
  const auto speakers = make_speakers(store, m);
  return connect_gloo(c10::make_intrusive<HierarchicalGroup>(machine, speakers, m.sums_may_wait, m.progress,
                                                             m.sums_as_tree, store, m.rank, m.world_size),
                      store, m);
}

const bool shm_registered =
    backends().add<config::NoOptions>("shm", "carries tensors in memory that the CPU ranks of one command share",
                                      join_shm, {{"choice", 2}, {"devices", "cpu"}, {"shares_memory", true}});

}  // namespace
}  // namespace ddp::dist
