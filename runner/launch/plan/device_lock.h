#pragma once

#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// Locks a GPU, named by its UUID, for the processes that hold the descriptor: no sweep of this machine takes it.
// None where another process holds it.
//
// The lock is a file in a folder of /tmp that all users share; it holds nothing, and it stays. Throws ddp::Error
// (training) where there can be none.
FileDescriptor lock_device(const std::string& uuid);

// Locks the GPUs of a plan for a run, so that no sweep takes them while it lives. A GPU that another command holds is
// told, and used all the same: the run names it.
std::vector<FileDescriptor> lock_devices(const Plan& plan);

}  // namespace ddp::launch
