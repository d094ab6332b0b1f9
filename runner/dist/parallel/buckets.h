#pragma once

#include <cstddef>
#include <vector>

namespace ddp::dist {

// The buckets of gradients that are all-reduced together: for each bucket, indices into the parameters.
using Buckets = std::vector<std::vector<std::size_t>>;

}  // namespace ddp::dist
