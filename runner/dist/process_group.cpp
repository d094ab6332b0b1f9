#include "dist/process_group.h"

#include <c10/core/DeviceType.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/cores.h"
#include "base/error.h"
#include "dist/attentive_group.h"

namespace ddp::dist {
namespace {

// TCPStore opens a port of its own on every interface unless it is given a socket: the parent binds one to
// the address the group meets at, and rank 0 hands it over.
c10::intrusive_ptr<c10d::Store> open_store(const Membership& m) {
  c10d::TCPStoreOptions options;
  options.port = m.store_port;
  options.isServer = m.store_listener >= 0;
  options.numWorkers = static_cast<std::size_t>(m.world_size);
  options.waitWorkers = false;
  options.timeout = m.timeout;
  if (options.isServer) options.masterListenFd = m.store_listener;
  return c10::make_intrusive<c10d::TCPStore>(m.store_host, options);
}

}  // namespace

Group join_process_group(const Membership& m) {
  try {
    auto store = open_store(m);
    const bool nccl = m.backend == "nccl";
    auto group =
        m.device == "cpu" && m.world_size <= usable_cores()
            ? c10::intrusive_ptr<c10d::ProcessGroup>(c10::make_intrusive<AttentiveGroup>(store, m.rank, m.world_size))
            : c10::make_intrusive<c10d::ProcessGroup>(store, m.rank, m.world_size);
    auto named = c10::make_intrusive<c10d::PrefixStore>(m.backend, store);
    auto backend = nccl ? make_nccl(named, m) : make_gloo(named, m);
    const auto type = nccl ? c10d::ProcessGroup::NCCL : c10d::ProcessGroup::GLOO;
    group->setDefaultBackend(type);
    if (nccl) {
      const c10::Device device(m.device);
      group->setBoundDeviceId(device);
      group->setBackend(c10::DeviceType::CUDA, type, backend);
      backend->eagerConnectSingleDevice(device);
    } else {
      group->setBackend(c10::DeviceType::CPU, type, backend);
      group->setBackend(c10::DeviceType::CUDA, type, backend);
    }
    group->setGroupName("0");
    backend->setSequenceNumberForGroup();
    return Group(group.get(), [group](c10d::ProcessGroup*) mutable { group.reset(); });
  } catch (const c10::Error& error) {
    throw training_error("cannot join the process group: " + error.msg(), "rank " + std::to_string(m.rank));
  }
}

void leave(const Group& group) {
  if (group) group->shutdown();
}

}  // namespace ddp::dist
