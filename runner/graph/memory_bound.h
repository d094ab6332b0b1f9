#pragma once

#include <cstdint>

namespace ddp::graph {

// Bounds the memory that this process can ask for from now on by what the machine, or its control group, has left: a
// graph that makes tensors larger than that gets an error from the call that makes them (c10::Error), and the kernel
// has no need to kill a process. Memory counts from when it is asked for, not from when it is written to. Returns the
// number of bytes. A bound that is lower already stays. Not for processes that use a GPU: drivers reserve more than
// they take.
std::int64_t bound_memory();

}  // namespace ddp::graph
