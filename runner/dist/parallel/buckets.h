#pragma once

#include <cstddef>
#include <vector>

namespace ddp::dist {

// Which parameters' gradients travel together: indices into the parameters, bucket by bucket.
using Buckets = std::vector<std::vector<std::size_t>>;

}  // namespace ddp::dist
