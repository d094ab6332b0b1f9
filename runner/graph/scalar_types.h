#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace ddp::graph {

// The type of numbers that an archive names by this code (torch/_export/serde/schema.py, ScalarType). Throws
// std::runtime_error for a code that ddp-exp does not train with.
c10::ScalarType scalar_type(std::int64_t code);

}  // namespace ddp::graph
