#pragma once

namespace ddp {

// The cores that this process may use, which taskset and cgroup cpusets limit; at least 1.
int usable_cores();

}  // namespace ddp
