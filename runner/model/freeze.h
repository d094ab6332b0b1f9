#pragma once

#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Takes the gradient from the parameters that one of the patterns matches, as requires_grad_(False) does in Python; of
// a tied parameter, one of its names is enough. Throws ddp::Error (usage) where a pattern matches no parameter, or no
// parameter is left to train.
void freeze(torch::nn::Module& module, const std::vector<std::string>& patterns);

}  // namespace ddp::model
