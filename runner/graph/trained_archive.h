#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "model/named_tensors.h"

namespace ddp::graph {

// Takes the next bytes of a file that is being written. It does not throw.
using TakeBytes = std::function<void(std::string_view)>;

// Writes the archive of a model once more, with `weights` in place of those that it has; each tied weight is written
// once. Its other members stay byte for byte, but with `evaluates` the graph, which becomes the one that evaluation
// runs. torch.export.load reads the result. Throws ddp::Error (usage) where the archive cannot be read or holds other
// weights than these, and, with `evaluates`, where its graph cannot be switched to evaluation.
void write_trained_archive(const std::filesystem::path& archive, const NamedTensors& weights, bool evaluates,
                           const TakeBytes& take);

}  // namespace ddp::graph
