#pragma once

#include <cstdint>

namespace ddp::graph {

// Limits the memory of this process to what the machine, or its control group, has left. A graph that makes larger
// tensors gets an error from the call that allocates them (c10::Error), and the kernel need not kill a process. The
// limit counts allocated memory, written to or not. Returns the number of bytes. A lower existing limit stays. Not for
// processes that use a GPU: drivers reserve more memory than they use.
std::int64_t bound_memory();

}  // namespace ddp::graph
