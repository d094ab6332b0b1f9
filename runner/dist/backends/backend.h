#pragma once

#include <vector>

#include <c10/core/DeviceType.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "config/registry.h"
#include "dist/membership.h"

namespace ddp::dist {

using StorePointer = c10::intrusive_ptr<c10d::Store>;
using GroupPointer = c10::intrusive_ptr<c10d::ProcessGroup>;
using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// The backends: ways to carry tensors between ranks. Each is one source file in this folder, which registers under its
// name in distributed.backend a function that joins the group of all ranks; it returns when all have joined. The traits
// tell the parent which ranks can use it (config::Transport). The store is null if all ranks share memory.
using BackendRegistry = config::Registry<Group, const StorePointer&, const Membership&>;
BackendRegistry& backends();

// Makes the backend carry the group's tensors of these devices.
Group connect(const GroupPointer& group, c10d::ProcessGroup::BackendType type, const BackendPointer& backend,
              const std::vector<c10::DeviceType>& devices);

// Returns a group without a backend, whose collectives the rank's progress counts.
GroupPointer watched_group(const StorePointer& store, const Membership& membership);

// Makes Gloo over the network interface that reaches the store, for CPU and CUDA tensors.
BackendPointer make_gloo(const StorePointer& store, const Membership& membership);
Group connect_gloo(const GroupPointer& group, const StorePointer& store, const Membership& membership);

// The only symbol of libddp_nccl.so, the only library that needs libtorch_cuda.
inline constexpr const char* kMakeNccl = "ddp_make_nccl";
using MakeNccl = void(const StorePointer& store, const Membership& membership, BackendPointer& backend);

}  // namespace ddp::dist
