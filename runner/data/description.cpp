#include "data/description.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_unique.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/nan_to_num.h>

#include "base/error.h"
#include "config/data_description.h"
#include "config/load/files.h"
#include "config/option/value.h"
#include "datasets/histogram.h"

namespace ddp::data {
namespace {

using config::Value;

constexpr std::int64_t kLongestSide = 96;
constexpr std::int64_t kShortestSide = 4;

// Returns uint8 [n, c, h, w]; undefined if the samples are not pictures.
at::Tensor as_bytes(at::Tensor pixels) {
  if (pixels.dim() == 3) pixels = pixels.unsqueeze(1);
  if (pixels.dim() != 4 || (pixels.size(1) != 1 && pixels.size(1) != 3)) return {};
  if (std::min(pixels.size(2), pixels.size(3)) < kShortestSide) return {};
  const std::int64_t every = (std::max(pixels.size(2), pixels.size(3)) + kLongestSide - 1) / kLongestSide;
  pixels = pixels.slice(2, 0, c10::nullopt, every).slice(3, 0, c10::nullopt, every).to(at::kDouble).nan_to_num(0, 0, 0);
  const double least = pixels.min().item<double>();
  const double range = pixels.max().item<double>() - least;
  return pixels.sub(least).mul(range > 0 ? 255 / range : 1).round().to(at::kByte);
}

std::string in_hexadecimal_digits(const at::Tensor& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const at::Tensor in_order = bytes.contiguous();
  const auto* byte = in_order.const_data_ptr<std::uint8_t>();
  std::string text;
  text.reserve(static_cast<std::size_t>(2 * in_order.numel()));
  for (std::int64_t i = 0; i < in_order.numel(); ++i) {
    text += kDigits[byte[i] >> 4];
    text += kDigits[byte[i] & 15];
  }
  return text;
}

// Converts samples to pictures: the "images" of data::preview. `inputs`: numbers [n, …]. `shape`: the shape [h, w] or
// [c, h, w] of a sample, if it differs from the shape in `inputs`; else empty. `labels`: one text for each sample, or
// empty. Returns an empty list if samples are not pictures. Subsamples pictures that are wider or higher than 96
// pixels.
Value pictures_of(const at::Tensor& inputs, const std::vector<std::int64_t>& shape,
                  const std::vector<std::string>& labels) {
  Value pictures = Value::array();
  std::vector<std::int64_t> whole = inputs.sizes().vec();
  if (!shape.empty()) {
    whole = {inputs.size(0)};
    whole.insert(whole.end(), shape.begin(), shape.end());
  }
  const at::Tensor bytes = as_bytes(inputs.reshape(whole));
  if (!bytes.defined()) return pictures;
  for (std::int64_t i = 0; i < bytes.size(0); ++i) {
    pictures.push_back({{"width", bytes.size(3)},
                        {"height", bytes.size(2)},
                        {"channels", bytes.size(1)},
                        {"pixels", in_hexadecimal_digits(bytes[i].permute({1, 2, 0}))},
                        {"label", labels.empty() ? "" : labels.at(static_cast<std::size_t>(i))}});
  }
  return pictures;
}

constexpr std::size_t kClassesNamed = 1000;
// Greater numbers are probably not classes, and counting takes memory for each class.
constexpr std::int64_t kMostClasses = 100'000;

Value finite_number(const at::Tensor& number) {
  if (!number.is_floating_point()) return number.item<std::int64_t>();
  return number.item<double>();
}

config::TensorDescription describe_tensor(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor finite = tensor.is_floating_point() ? tensor.masked_select(tensor.isfinite()) : tensor;
  config::TensorDescription described{.name = name,
                                      .dtype = tensor.is_floating_point() ? "float32" : "int64",
                                      .shape = tensor.sizes().vec(),
                                      .not_finite = tensor.numel() - finite.numel()};
  if (finite.numel() == 0) return described;
  const auto [least, greatest] = at::aminmax(finite);
  described.least = finite_number(least);
  described.greatest = finite_number(greatest);
  return described;
}

std::vector<config::TensorDescription> describe_tensors(const NamedTensors& tensors) {
  std::vector<config::TensorDescription> all;
  for (const auto& [name, tensor] : tensors) all.push_back(describe_tensor(name, tensor));
  return all;
}

// Leaves out negative classes: the targets of these samples do not count.
std::vector<std::int64_t> counts_of(const at::Tensor& classes, std::int64_t count) {
  const at::Tensor counts = at::bincount(classes.masked_select(classes.ge(0)), {}, count);
  const auto* first = counts.const_data_ptr<std::int64_t>();
  return {first, first + counts.numel()};
}

std::vector<std::string> first_names(const std::vector<std::string>& names, std::int64_t count) {
  std::vector<std::string> first;
  for (std::size_t i = 0; i < std::min<std::size_t>(kClassesNamed, static_cast<std::size_t>(count)); ++i) {
    first.push_back(i < names.size() ? names[i] : std::to_string(i));
  }
  return first;
}

// Counts the classes of each set, if all sets have classes.
void add_classes(const Sets& sets, const std::vector<std::string>& names, config::DataDescription& description) {
  std::vector<at::Tensor> classes;
  auto count = static_cast<std::int64_t>(names.size());
  for (const auto& [name, set] : sets.by_name()) {
    if (!set->dataset) continue;
    classes.push_back(classes_of(*set));
    if (!classes.back().defined()) return;
    if (classes.back().numel() > 0) count = std::max(count, classes.back().max().item<std::int64_t>() + 1);
  }
  if (count == 0 || count > kMostClasses) return;
  description.classes = {.count = count, .names = first_names(names, count)};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    description.sets[i].class_counts = counts_of(classes[i], count);
  }
}

constexpr std::int64_t kSamplesShown = 16;
constexpr std::int64_t kNumbersShown = 16;  // numbers of a sample
// Limits on the data that histograms read, to be fast for mapped files of any size.
constexpr std::int64_t kSamplesCounted = 10'000;
constexpr std::int64_t kNumbersCounted = 8'000'000;

// "0.5, 1, … (64 numbers)"
std::string numbers_text(const at::Tensor& sample) {
  const at::Tensor numbers = sample.reshape({-1});
  std::string text;
  for (std::int64_t i = 0; i < std::min(kNumbersShown, numbers.numel()); ++i) {
    text += (i > 0 ? ", " : "") + datasets::number_text(numbers[i]);
  }
  return numbers.numel() > kNumbersShown ? text + ", … (" + std::to_string(numbers.numel()) + " numbers)" : text;
}

NamedTensors all_tensors(const datasets::Batch& batch) {
  NamedTensors all = batch.inputs;
  all.insert(all.end(), batch.targets.begin(), batch.targets.end());
  return all;
}

// Returns the name of a class if the dataset has names, else its number.
std::string label_of(std::int64_t number, const std::vector<std::string>& names) {
  const bool named = number >= 0 && number < std::ssize(names);
  return named ? names[static_cast<std::size_t>(number)] : std::to_string(number);
}

bool is_class(const at::Tensor& target) { return target.scalar_type() == at::kLong && target.dim() == 1; }

Value sample_rows(const datasets::Batch& first, const std::vector<std::string>& names) {
  Value columns = Value::array();
  std::vector<Value> rows(static_cast<std::size_t>(first.samples()), Value::array());
  const auto add = [&](const NamedTensors& tensors, bool targets) {
    for (const auto& [name, tensor] : tensors) {
      columns.push_back(name);
      for (std::int64_t i = 0; i < first.samples(); ++i) {
        const bool named = targets && is_class(tensor);
        rows[static_cast<std::size_t>(i)].push_back(named ? label_of(tensor[i].item<std::int64_t>(), names)
                                                          : numbers_text(tensor[i]));
      }
    }
  };
  add(first.inputs, false);
  add(first.targets, true);
  return {{"columns", std::move(columns)}, {"rows", rows}};
}

Value histogram_of(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.to(at::kDouble).reshape({-1}).contiguous();
  const double* begin = numbers.const_data_ptr<double>();
  datasets::Histogram histogram;
  std::for_each(begin, begin + numbers.numel(), [&](double number) { histogram.widen(number); });
  std::for_each(begin, begin + numbers.numel(), [&](double number) { histogram.add(number); });
  return histogram.to_json();
}

std::int64_t counted_samples(const datasets::Batch& first) {
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : all_tensors(first)) numbers += tensor.numel() / first.samples();
  return std::clamp<std::int64_t>(kNumbersCounted / std::max<std::int64_t>(numbers, 1), 1, kSamplesCounted);
}

Value preview_tensors(const Set& train, const datasets::Batch& first) {
  const datasets::Batch some = first_samples(train, counted_samples(first));
  Value tensors = Value::array();
  for (const auto& [name, tensor] : all_tensors(some)) {
    if (is_class(tensor)) continue;
    tensors.push_back(histogram_of(tensor));
    tensors.back()["name"] = name;
  }
  return {{"samples", sample_rows(first, train.dataset->describe().classes)},
          {"tensors", std::move(tensors)},
          {"counted", some.samples()},
          {"samples_in_all", train.samples.defined() ? Value(train.size()) : Value()}};
}

std::vector<std::string> labels_of(const datasets::Batch& first, const std::vector<std::string>& names) {
  if (first.targets.empty() || !is_class(first.targets.front().second)) return {};
  const at::Tensor target = first.targets.front().second;
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < target.size(0); ++i) labels.push_back(label_of(target[i].item<std::int64_t>(), names));
  return labels;
}

// Tells whether the file names other data than [dataset] for a set.
bool has_own_data(const std::string& set, const config::Experiment& e) {
  if (set == "validation") return !e.validation.dataset.name.empty();
  return set == "test" && !e.test.dataset.name.empty();
}

bool holds_row(const Set& set, std::int64_t row) {
  return set.samples.defined() && set.samples.eq(row).any().item<bool>();
}

// Adds the set of each row of the training table.
void add_sets(const Sets& sets, Value& rows) {
  rows["set"] = Value::array();
  for (std::int64_t row = 0; row < std::ssize(rows["before"]); ++row) {
    std::string of;
    for (const auto& [name, set] : sets.by_name()) {
      if (sets.shares(*set) && holds_row(*set, row)) of = name;
    }
    rows["set"].push_back(of);
  }
}

// Reads a few blocks of a stream.
config::StreamDescription stream_of(const datasets::MapDataset& dataset, const config::Experiment& e) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kBlocksRead = 3;
  const std::vector<std::int64_t> begins = dataset.block_begins();
  config::StreamDescription stream{.blocks = std::ssize(begins) - 1, .block_bytes = dataset.block_bytes()};
  stream.memory_bytes = std::min(stream.blocks, e.loader.window + 1) * stream.block_bytes;
  for (const config::NamedFile& file : config::named_files(e)) {
    if (!file.key.starts_with("dataset.")) continue;
    std::error_code none;
    if (file.object) stream.disk_bytes += file.object->bytes;
    stream.epoch_bytes +=
        file.object ? file.object->bytes : static_cast<std::int64_t>(std::filesystem::file_size(file.path, none));
  }
  stream.disk_bytes = std::min(stream.disk_bytes, e.loader.cache_bytes());
  std::int64_t samples = 0;
  const Clock::time_point begun = Clock::now();
  for (std::int64_t i = 0; i < std::min(kBlocksRead, stream.blocks); ++i) {
    const auto block = static_cast<std::size_t>((2 * i + 1) * stream.blocks / (2 * kBlocksRead));
    samples += begins[block + 1] - begins[block];
    dataset.gather(at::arange(begins[block], begins[block + 1], at::kLong), /*epoch=*/0);
  }
  stream.samples_per_second =
      static_cast<double>(samples) / std::chrono::duration<double>(Clock::now() - begun).count();
  return stream;
}

}  // namespace

at::Tensor classes_of(const Set& set) {
  const auto* map = set.map();
  const at::Tensor all = map == nullptr ? at::Tensor() : map->classes();
  return all.defined() ? all.index_select(0, set.samples) : all;
}

std::string sets_of_rows(const Sets& sets, const config::Experiment& experiment) {
  const auto* dataset = sets.train.map();
  bool has_rows = dataset != nullptr;
  for (const auto& [name, set] : sets.by_name()) {
    if (set->dataset && !has_own_data(name, experiment)) has_rows = has_rows && sets.shares(*set);
  }
  if (!has_rows) {
    throw usage_error("draws its samples, or cuts them from a text: they are no rows of files",
                      "dataset \"" + experiment.dataset.name + "\"", "--sets is for tables, arrays and images");
  }
  std::vector<const char*> set_of(static_cast<std::size_t>(dataset->size()), "dropped");
  for (const auto& [name, set] : sets.by_name()) {
    if (!sets.shares(*set)) continue;
    const auto* samples = set->samples.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < set->size(); ++i) set_of[static_cast<std::size_t>(samples[i])] = name;
  }
  std::string text = "row,set\n";
  for (std::size_t row = 0; row < set_of.size(); ++row) text += std::to_string(row) + "," + set_of[row] + "\n";
  return text;
}

Value describe(const Sets& sets, const config::Experiment& experiment, const datasets::Batch& first) {
  config::DataDescription description{.of_dataset = sets.train.dataset->describe()};
  const auto* map = sets.train.map();
  if (map != nullptr && map->size() > samples_shared(sets)) description.left_out = map->size() - samples_shared(sets);
  std::int64_t of_dataset = 0;
  for (const auto& [name, set] : sets.by_name()) of_dataset += has_own_data(name, experiment) ? 0 : set->size();
  const std::string& by_of_test = experiment.test.by;
  const std::string& by = experiment.validation.by.empty() ? by_of_test : experiment.validation.by;
  std::map<std::string, at::Tensor> groups;  // each column is read once
  for (const std::string& column : {by, by_of_test}) {
    if (map != nullptr && !column.empty() && !groups.contains(column)) groups[column] = map->groups(column);
  }
  for (const auto& [name, set] : sets.by_name()) {
    if (!set->dataset) continue;
    config::SetDescription one{.set = name};
    if (set->samples.defined()) one.samples = set->size();
    if (set->samples.defined() && !has_own_data(name, experiment)) {
      one.share = static_cast<double>(set->size()) / static_cast<double>(of_dataset);
    }
    const auto of_set = groups.find(set == &sets.test ? by_of_test : by);
    if (of_set != groups.end() && sets.shares(*set)) {
      one.groups = std::get<0>(at::_unique(of_set->second.index_select(0, set->samples))).numel();
    }
    one.tokens = set->dataset->describe().tokens;
    description.sets.push_back(std::move(one));
  }
  add_classes(sets, description.of_dataset.classes, description);
  if (map != nullptr && !map->block_begins().empty()) description.stream = stream_of(*map, experiment);
  description.first_batch = {.inputs = describe_tensors(first.inputs), .targets = describe_tensors(first.targets)};
  description.warnings = pitfalls(sets, experiment);
  return config::written(description);
}

Value preview(const Sets& sets) {
  const Set& train = sets.train;
  const datasets::Batch first = first_samples(train, kSamplesShown);
  Value page = train.dataset->preview(train.samples, first);
  if (page.contains("rows")) add_sets(sets, page["rows"]);
  if (!page.empty()) return page;
  page = preview_tensors(train, first);
  const config::DatasetDescription own = train.dataset->describe();
  page["images"] = pictures_of(first.inputs.front().second, own.image, labels_of(first, own.classes));
  return page;
}

}  // namespace ddp::data
