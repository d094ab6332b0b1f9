#pragma once

namespace ddp {

// Returns the number of cores that this process may use, at least 1. taskset and cgroup cpusets limit it.
int usable_cores();

}  // namespace ddp
