#include "format/safetensors.h"

#include "base/error.h"
#include "datasets/arrays.h"
#include "datasets/files.h"

namespace ddp::datasets {
namespace {

// Turns every error of a data file into a usage error: no training has started yet.
NamedTensors tensors_in(const std::filesystem::path& file) try {
  return format::map_safetensors(file);
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

format::Array tensor_array(const NamedTensors& tensors, const std::string& name, const std::string& file) {
  const at::Tensor tensor = tensor_named(name, tensors);
  if (tensor.defined()) return format::array_of(file + ": \"" + name + "\"", tensor);
  std::vector<std::string> known;
  for (const auto& [other, unwanted] : tensors) known.push_back(other);
  throw format::no_array(name, known, file);
}

std::unique_ptr<Dataset> make_safetensors(const NamedArrayOptions& o, const Context& context) {
  const auto files = files_of(o.path, "dataset.path", {".safetensors"});
  std::vector<NamedTensors> tensors;
  for (const auto& file : files) tensors.push_back(tensors_in(file));
  const FindArray find = [&](std::size_t file, const std::string& name) {
    return tensor_array(tensors.at(file), name, files.at(file).string());
  };
  const auto input_names = one_or_more(o.arrays.inputs, "dataset.inputs");
  const auto target_names = o.arrays.target_names(context.role);
  auto inputs = named_rows(input_names, files.size(), o.arrays.of_inputs(), find);
  auto targets = named_rows(target_names, files.size(), {}, find);
  auto weights = named_rows(o.arrays.weight_names(context.role), files.size(), {}, find);
  return std::make_unique<Arrays>(std::move(inputs), std::move(targets), std::move(weights), context);
}

const bool safetensors_registered =
    registry().add<NamedArrayOptions>("safetensors", "named tensors in safetensors files: sample i is row i of each",
                                      make_safetensors, {{"predicts_from", "path"}});

}  // namespace
}  // namespace ddp::datasets
