#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "dist/process_group.h"

namespace ddp::dist {

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const Membership& m) {
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->timeout = m.timeout;
  options->threads = 2;
  // Use the address, never the host name: Debian maps the name to 127.0.1.1, which other nodes cannot reach.
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(m.meeting.own_address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, m.rank, m.world_size, options);
}

}  // namespace ddp::dist
