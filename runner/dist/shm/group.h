#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dist/shm/backend.h"
#include "dist/watched_group.h"

namespace ddp::dist {

// A process group whose ranks share memory on each node and sum tensors there.
class ArenaGroup : public WatchedGroup {
 public:
  template <class... Arguments>
  explicit ArenaGroup(c10::intrusive_ptr<SharedMemory> machine, Arguments&&... arguments)
      : WatchedGroup(std::forward<Arguments>(arguments)...), machine_(std::move(machine)) {}

  // The memory in which tensors are summed without copies.
  const std::shared_ptr<SharedArena>& arena() const { return machine_->arena(); }

 protected:
  const c10::intrusive_ptr<SharedMemory>& machine() const { return machine_; }

 private:
  const c10::intrusive_ptr<SharedMemory> machine_;
};

// A process group with all ranks on one node.
class SharedGroup : public ArenaGroup {
 public:
  template <class... Arguments>
  explicit SharedGroup(c10::intrusive_ptr<SharedMemory> all, Arguments&&... arguments)
      : ArenaGroup(std::move(all), std::forward<Arguments>(arguments)...) {
    setDefaultBackend(CUSTOM);
    setBackend(c10::DeviceType::CPU, CUSTOM, machine());
    setGroupName("0");
  }

  // Calls the backend directly: through LibTorch's dispatcher, a small all-reduce would take twice as long.
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    note(record::CollectiveKind::all_reduce);
    return machine()->allreduce(tensors, options);
  }
};

}  // namespace ddp::dist
