#include "dist/backends/backend.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

// Makes NCCL for the rank's first GPU. Throws c10::Error if the machine has no GPU.
extern "C" void ddp_make_nccl(const c10::intrusive_ptr<c10d::Store>& store, const ddp::dist::Membership& membership,
                              c10::intrusive_ptr<c10d::Backend>& backend) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = membership.timeout;
  backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, membership.rank, membership.world_size, options);
}
