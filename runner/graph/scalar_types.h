#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace ddp::graph {

// The scalar type with this code in an archive (torch/_export/serde/schema.py, ScalarType). Throws std::runtime_error
// for a type that ddp-exp does not train with.
c10::ScalarType scalar_type(std::int64_t code);

}  // namespace ddp::graph
