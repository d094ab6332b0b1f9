#pragma once

#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Freezes the parameters that match a pattern, as requires_grad_(False) does in Python. For a tied parameter, a match
// of one of its names is enough. Throws ddp::Error (usage) if a pattern matches no parameter, or if no parameter is
// left to train, for whatever reason.
void freeze(torch::nn::Module& module, const std::vector<std::string>& patterns);

}  // namespace ddp::model
