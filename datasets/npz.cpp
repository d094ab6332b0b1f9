#include "format/npz.h"

#include <utility>

#include <ATen/ops/full.h>

#include "datasets/arrays.h"
#include "datasets/files.h"

namespace ddp::datasets {
namespace {

// The name of a held tensor with the number of unpacked arrays. It keeps held() from being empty if none is unpacked.
constexpr const char* kInflated = "inflated";

// The archives of a dataset. One process unpacks the deflated arrays for all ranks of a node; the others take them from
// the held tensors.
class Archives {
 public:
  Archives(const std::vector<std::filesystem::path>& files, NamedTensors held) : inflated_(std::move(held)) {
    for (const auto& file : files) archives_.emplace_back(file);
  }

  format::Array find(std::size_t file, const std::string& name) {
    const format::NpzFile& archive = archives_.at(file);
    if (!archive.is_deflated(name)) return archive.stored(name);
    const std::string key = std::to_string(file) + "/" + name;
    at::Tensor bytes = tensor_named(key, inflated_);
    if (!bytes.defined()) bytes = inflated_.emplace_back(key, archive.inflated(name)).second;
    return archive.from_inflated(name, bytes);
  }

  // The tensors to hold for the other ranks.
  NamedTensors held() const {
    NamedTensors held = inflated_;
    held.emplace_back(kInflated, at::full({1}, static_cast<std::int64_t>(inflated_.size()), at::kLong));
    return held;
  }

 private:
  std::vector<format::NpzFile> archives_;
  NamedTensors inflated_;
};

std::unique_ptr<Dataset> make_npz(const NamedArrayOptions& o, const Context& context) {
  const auto files = files_of(o.path, "dataset.path", {".npz"});
  Archives archives(files, context.held);
  const FindArray find = [&](std::size_t file, const std::string& name) { return archives.find(file, name); };
  const auto input_names = one_or_more(o.arrays.inputs, "dataset.inputs");
  const auto target_names = o.arrays.target_names(context.role);
  auto inputs = named_rows(input_names, files.size(), o.arrays.of_inputs(), find);
  auto targets = named_rows(target_names, files.size(), {}, find);
  auto weights = named_rows(o.arrays.weight_names(context.role), files.size(), {}, find);
  return std::make_unique<Arrays>(std::move(inputs), std::move(targets), std::move(weights), context, archives.held());
}

const bool npz_registered =
    registry().add<NamedArrayOptions>("npz", "named arrays in a NumPy archive: sample i is row i of each array",
                                      make_npz, {{"held", true}, {"predicts_from", "path"}});

}  // namespace
}  // namespace ddp::datasets
