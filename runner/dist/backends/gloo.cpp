#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "dist/backends/backend.h"

namespace ddp::dist {

BackendPointer make_gloo(const StorePointer& store, const Membership& m) {
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->timeout = m.timeout;
  options->threads = 2;
  // Use the address, never the host name: Debian maps the name to 127.0.1.1, which other nodes cannot reach.
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(m.meeting.own_address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, m.rank, m.world_size, options);
}

Group connect_gloo(const GroupPointer& group, const StorePointer& store, const Membership& m) {
  const auto named = c10::make_intrusive<c10d::PrefixStore>(m.backend, store);
  return connect(group, c10d::ProcessGroup::GLOO, make_gloo(named, m), {c10::DeviceType::CPU, c10::DeviceType::CUDA});
}

namespace {

const bool gloo_registered =
    backends().add<config::NoOptions>("gloo", "carries tensors of CPUs and GPUs over the network",
                                      [](const config::NoOptions&, const StorePointer& store, const Membership& m) {
                                        return connect_gloo(watched_group(store, m), store, m);
                                      },
                                      {{"choice", 3}});

}  // namespace
}  // namespace ddp::dist
