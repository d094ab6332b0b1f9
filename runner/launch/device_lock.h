#pragma once

#include <string>

#include "base/file_descriptor.h"

namespace ddp::launch {

// Locks a GPU, named by its UUID, for the processes that hold the descriptor: no other sweep of this machine takes it.
// None where another process holds it.
//
// The lock is a file in a folder of /tmp that all users share; it holds nothing, and it stays. Throws ddp::Error
// (training) where there can be none.
FileDescriptor lock_device(const std::string& uuid);

}  // namespace ddp::launch
