#include "datasets/dataset.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/url.h"
#include "config/text/source.h"
#include "datasets/files.h"
#include "datasets/histogram.h"

namespace ddp::datasets {

at::Tensor MapDataset::groups(const std::string& column) const {
  throw usage_error("has no column \"" + column + "\": only tables have columns", "dataset");
}

at::Tensor MapDataset::numbers(const std::string& column) const { return groups(column); }

namespace {

std::string bytes_of(const NamedTensors& tensors) {
  std::string bytes;
  for (const auto& [name, tensor] : tensors) {
    bytes.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  }
  return bytes;
}

}  // namespace

Content MapDataset::content(std::int64_t sample) const {
  const std::shared_ptr<const MapDataset> plain = for_measuring();
  const Batch batch = (plain ? plain.get() : this)->gather(at::tensor({sample}, at::kLong), /*epoch=*/0);
  return {.input = bytes_of(batch.inputs), .target = bytes_of(batch.targets)};
}

Registry& registry() {
  static Registry all("dataset");
  return all;
}

config::Option path_option(const std::string& doc) {
  return {.name = "path",
          .doc = doc,
          .aliases = {"data_dir", "data_path", "root", "file", "filename"},
          .required = true,
          .path = true,
          .urls = true,
          .types = {config::Type::text, config::Type::list},
          .item = config::Type::text};
}

std::vector<std::string> one_or_more(const config::Value& option, const std::string& key) {
  std::vector<std::string> texts;
  if (option.is_string()) texts.push_back(option.get<std::string>());
  if (option.is_array()) texts = option.get<std::vector<std::string>>();
  if (texts.empty()) throw usage_error("is empty", key, "give a name or a list of names");
  return texts;
}

std::vector<std::filesystem::path> paths_of(const config::Value& option, const std::string& key) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : one_or_more(option, key)) {
    const auto matches = is_url(path) ? std::vector<std::string>{path} : matching_paths(path);
    if (matches.empty()) throw usage_error("matches no file", path, "see " + key);
    paths.insert(paths.end(), matches.begin(), matches.end());
  }
  return paths;
}

std::vector<std::filesystem::path> files_of(const config::Value& option, const std::string& key,
                                            const std::vector<std::string>& endings) {
  std::vector<std::filesystem::path> files = paths_of(option, key);
  std::error_code none;
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::is_directory(file, none)) continue;
    throw usage_error("is a folder, not a file", file.string(),
                      "name the files in it: " + config::printable((file / ("*" + endings.front())).string()));
  }
  return files;
}

std::string files_in_words(const std::vector<std::filesystem::path>& files) {
  const std::string first = files.front().string();
  return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " more";
}

void Histogram::widen(double number) {
  if (!std::isfinite(number)) return;
  least_ = std::min(least_, number);
  greatest_ = std::max(greatest_, number);
}

void Histogram::add(double number) {
  if (!std::isfinite(number)) {
    ++not_finite_;
    return;
  }
  if (bins_.empty()) bins_.resize(least_ < greatest_ ? kBins : 1);
  // Halves, because the whole range may overflow.
  const double share = least_ < greatest_ ? (number / 2 - least_ / 2) / (greatest_ / 2 - least_ / 2) : 0;
  const auto bin = static_cast<std::size_t>(share * static_cast<double>(bins_.size()));
  ++bins_[std::min(bin, bins_.size() - 1)];
}

config::Value Histogram::to_json() const {
  const bool some = !bins_.empty();
  return {{"least", some ? config::Value(least_) : config::Value()},
          {"greatest", some ? config::Value(greatest_) : config::Value()},
          {"bins", bins_},
          {"not_finite", not_finite_}};
}

std::string number_text(const at::Tensor& number) {
  if (!number.is_floating_point()) return std::to_string(number.item<std::int64_t>());
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number.item<float>()).ptr};
}

}  // namespace ddp::datasets
