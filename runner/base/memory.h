#pragma once

#include <cstdint>

namespace ddp {

// Returns the bytes of memory that this process can still use before the machine or its control group runs out of
// memory.
std::int64_t available_memory();

}  // namespace ddp
