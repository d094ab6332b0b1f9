#pragma once

#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// Locks a GPU, named by its UUID, for the processes that hold the descriptor: no sweep of this machine takes it.
// Returns no descriptor if another process holds the lock.
//
// The lock is a file in a folder of /tmp that all users share; it is empty, and it stays. Throws ddp::Error (training)
// if it cannot be created.
FileDescriptor lock_device(const std::string& uuid);

// Locks the GPUs of a plan for a run, so that no sweep takes them during the run. If another command holds a GPU, warns
// and uses it anyway, because the run names it.
std::vector<FileDescriptor> lock_devices(const Plan& plan);

}  // namespace ddp::launch
