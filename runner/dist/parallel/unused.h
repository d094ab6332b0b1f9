#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace ddp::dist {

// The error for parameters on which the loss does not depend, by their names. DDP would wait for their gradients.
Error unused_parameters(Fault fault, const std::vector<std::string>& names);

}  // namespace ddp::dist
