#include "format/npy.h"

#include "datasets/arrays.h"
#include "datasets/files.h"

namespace ddp::datasets {
namespace {

struct NpyOptions {
  ArrayOptions arrays;
  void fields(config::Fields& f) {
    arrays.fields(f, "an .npy file, a glob (one array in several files), or a list of these", /*paths=*/true);
  }
};

std::vector<ArrayRows> npy_rows(const std::vector<std::string>& paths, const std::string& key, Conversion conversion) {
  std::vector<ArrayRows> all;
  for (const std::string& path : paths) {
    std::vector<format::Array> parts;
    const auto files = files_of(path, key, {".npy"});
    for (const auto& file : files) parts.push_back(format::map_npy(file));
    all.emplace_back(unused_name(files.front().stem().string(), all), std::move(parts), conversion);
  }
  return all;
}

std::unique_ptr<Dataset> make_npy(const NpyOptions& o, const Context& context) {
  const auto input_paths = one_or_more(o.arrays.inputs, "dataset.inputs");
  auto inputs = npy_rows(input_paths, "dataset.inputs", o.arrays.of_inputs());
  auto targets = npy_rows(o.arrays.target_names(context.role), "dataset.targets", {});
  auto weights = npy_rows(o.arrays.weight_names(context.role), "dataset.weights", {});
  return std::make_unique<Arrays>(std::move(inputs), std::move(targets), std::move(weights), context);
}

const bool npy_registered = registry().add<NpyOptions>(
    "npy", "NumPy arrays, a file each: sample i is row i of each array", make_npy, {{"predicts_from", "inputs"}});

}  // namespace
}  // namespace ddp::datasets
