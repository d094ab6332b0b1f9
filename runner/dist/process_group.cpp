#include "dist/process_group.h"

#include <c10/core/DeviceType.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/cores.h"
#include "base/error.h"
#include "dist/attentive_group.h"

namespace ddp::dist {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

StorePointer open_shared_store(const Membership& m) {
  if (!m.meeting.file.empty()) return c10::make_intrusive<c10d::FileStore>(m.meeting.file, m.world_size);
  // TCPStore opens a port of its own on every interface unless it is given a socket: whoever starts the rank binds one
  // to the address the group meets at.
  c10d::TCPStoreOptions options;
  options.port = m.meeting.port;
  options.isServer = m.meeting.listener >= 0;
  options.numWorkers = static_cast<std::size_t>(m.world_size);
  options.waitWorkers = false;
  options.timeout = m.timeout;
  if (options.isServer) options.masterListenFd = m.meeting.listener;
  return c10::make_intrusive<c10d::TCPStore>(m.meeting.host, options);
}

StorePointer open_store(const Membership& m) {
  StorePointer store = open_shared_store(m);
  store->setTimeout(m.timeout);
  if (m.meeting.prefix.empty()) return store;
  return c10::make_intrusive<c10d::PrefixStore>(m.meeting.prefix, store);
}

Group owned_by_all(c10::intrusive_ptr<c10d::ProcessGroup> group) {
  return Group(group.get(), [group](c10d::ProcessGroup*) mutable { group.reset(); });
}

using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;

GroupPointer watched_group(const StorePointer& store, const Membership& m) {
  if (m.device == "cpu" && m.world_size <= usable_cores()) {
    return c10::make_intrusive<AttentiveGroup>(m.progress, store, m.rank, m.world_size);
  }
  return c10::make_intrusive<WatchedGroup>(m.progress, store, m.rank, m.world_size);
}

Group connect(const GroupPointer& group, const StorePointer& store, const Membership& m) {
  const bool nccl = m.backend == "nccl";
  auto named = c10::make_intrusive<c10d::PrefixStore>(m.backend, store);
  auto backend = nccl ? make_nccl(named, m) : make_gloo(named, m);
  const auto type = nccl ? c10d::ProcessGroup::NCCL : c10d::ProcessGroup::GLOO;
  group->setDefaultBackend(type);
  if (nccl) {
    // Bound to one device, NCCL refuses the gradients that are on another one of this rank; it connects when it must.
    const c10::Device device(m.device);
    if (!m.spread) group->setBoundDeviceId(device);
    group->setBackend(c10::DeviceType::CUDA, type, backend);
    if (!m.spread) backend->eagerConnectSingleDevice(device);
  } else {
    group->setBackend(c10::DeviceType::CPU, type, backend);
    group->setBackend(c10::DeviceType::CUDA, type, backend);
  }
  group->setGroupName("0");
  backend->setSequenceNumberForGroup();
  return owned_by_all(group);
}

// The CPU's words: never through NCCL.
Group make_control_group(const StorePointer& store, Membership m) {
  m.backend = "gloo";
  m.device = "cpu";
  return connect(c10::make_intrusive<c10d::ProcessGroup>(store, m.rank, m.world_size),
                 c10::make_intrusive<c10d::PrefixStore>("control", store), m);
}

// Hands sums to its backend itself: by way of LibTorch's dispatcher, a small one would take twice as long.
class SharedGroup : public WatchedGroup {
 public:
  explicit SharedGroup(const Membership& m)
      : WatchedGroup(m.progress, m.rank, m.world_size), backend_(make_shared_memory(m)) {
    setDefaultBackend(CUSTOM);
    setBackend(c10::DeviceType::CPU, CUSTOM, backend_);
    setGroupName("0");
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    note(record::Collective::all_reduce);
    return backend_->allreduce(tensors, options);
  }

 private:
  const c10::intrusive_ptr<c10d::Backend> backend_;
};

}  // namespace

Groups join_process_groups(const Membership& m, bool control) {
  try {
    Groups groups;
    if (m.backend == "shm") {
      groups.main = owned_by_all(c10::make_intrusive<SharedGroup>(m));
      return groups;
    }
    const StorePointer store = open_store(m);
    groups.store = std::shared_ptr<c10d::Store>(store.get(), [kept = store](c10d::Store*) {});
    if (control) groups.control = make_control_group(store, m);
    groups.main = connect(watched_group(store, m), store, m);
    return groups;
  } catch (const c10::Error& error) {
    throw training_error("cannot join the process group: " + error.msg(), "rank " + std::to_string(m.rank));
  }
}

void leave(const Group& group) {
  if (group) group->shutdown();
}

}  // namespace ddp::dist
