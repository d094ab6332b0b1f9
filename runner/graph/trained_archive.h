#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "model/named_tensors.h"

namespace ddp::graph {

// Receives the next bytes of a file that is being written. Must not throw.
using TakeBytes = std::function<void(std::string_view)>;

// Writes a model's archive again without its weights, which a checkpoint has; constants stay. read_program reads the
// result. Throws ddp::Error (usage) if the archive cannot be read.
void write_graph(const std::filesystem::path& archive, const TakeBytes& take);

// Writes a model's archive, which may lack weights, again with `weights`; each tied weight is written once. The other
// members stay byte for byte the same, except that with `evaluates` the graph becomes the one for evaluation.
// torch.export.load reads the result. Throws ddp::Error (usage) if the archive cannot be read or holds other weights,
// and, with `evaluates`, if its graph cannot be switched to evaluation.
void write_trained_archive(const std::filesystem::path& archive, const NamedTensors& weights, bool evaluates,
                           const TakeBytes& take);

}  // namespace ddp::graph
