#pragma once

#include <cstdint>

namespace ddp {

// How many bytes of memory this process can still use before the machine, or its control group, has none left.
std::int64_t available_memory();

}  // namespace ddp
