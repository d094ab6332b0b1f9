#include <dlfcn.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "base/error.h"
#include "base/installation.h"
#include "dist/backends/backend.h"

namespace ddp::dist {
namespace {

BackendPointer make_nccl(const StorePointer& store, const Membership& m) {
  void* library = dlopen("libddp_nccl.so", RTLD_NOW | RTLD_GLOBAL);
  auto* make = library == nullptr ? nullptr : reinterpret_cast<MakeNccl*>(dlsym(library, kMakeNccl));
  if (make == nullptr) {
    throw training_error(std::string("NCCL cannot be loaded: ") + dlerror(), "backend nccl", how_to_mend(true));
  }
  BackendPointer backend;
  make(store, m, backend);
  return backend;
}

// If NCCL is bound to one device, it rejects gradients on another device of this rank. Without a binding it connects at
// the first use.
Group join_nccl(const config::NoOptions&, const StorePointer& store, const Membership& m) {
  const GroupPointer group = watched_group(store, m);
  const BackendPointer backend = make_nccl(c10::make_intrusive<c10d::PrefixStore>(m.backend, store), m);
  const c10::Device device(m.device);
  if (!m.spread) group->setBoundDeviceId(device);
  Group joined = connect(group, c10d::ProcessGroup::NCCL, backend, {c10::DeviceType::CUDA});
  if (!m.spread) backend->eagerConnectSingleDevice(device);
  return joined;
}

const bool nccl_registered = backends().add<config::NoOptions>("nccl", "carries tensors between GPUs", join_nccl,
                                                               {{"choice", 1}, {"devices", "cuda"}});

}  // namespace
}  // namespace ddp::dist
