#include "data/preview.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "data/description.h"
#include "data/pictures.h"
#include "datasets/histogram.h"

namespace ddp::data {
namespace {

using config::Value;

constexpr std::int64_t kSamplesShown = 16;
constexpr std::int64_t kNumbersShown = 16;  // numbers of a sample
// Limits on the data that histograms read, to be fast for mapped files of any size.
constexpr std::int64_t kSamplesCounted = 10'000;
constexpr std::int64_t kNumbersCounted = 8'000'000;

std::string number_text(const at::Tensor& number) {
  if (!number.is_floating_point()) return std::to_string(number.item<std::int64_t>());
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number.item<float>()).ptr};
}

// "0.5, 1, … (64 numbers)"
std::string numbers_text(const at::Tensor& sample) {
  const at::Tensor numbers = sample.reshape({-1});
  std::string text;
  for (std::int64_t i = 0; i < std::min(kNumbersShown, numbers.numel()); ++i) {
    text += (i > 0 ? ", " : "") + number_text(numbers[i]);
  }
  return numbers.numel() > kNumbersShown ? text + ", … (" + std::to_string(numbers.numel()) + " numbers)" : text;
}

NamedTensors all_tensors(const datasets::Batch& batch) {
  NamedTensors all = batch.inputs;
  all.insert(all.end(), batch.targets.begin(), batch.targets.end());
  return all;
}

std::vector<std::string> class_names(const datasets::Dataset& dataset) {
  return dataset.describe().value("classes", std::vector<std::string>());
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
  return {{"samples", sample_rows(first, class_names(*train.dataset))},
          {"tensors", std::move(tensors)},
          {"counted", some.samples()},
          {"samples_in_all", train.samples.defined() ? Value(train.size()) : Value()}};
}

std::vector<std::string> labels_of(const datasets::Batch& first, const std::vector<std::string>& names) {
  const at::Tensor target = first.targets.front().second;
  if (!is_class(target)) return {};
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < target.size(0); ++i) labels.push_back(label_of(target[i].item<std::int64_t>(), names));
  return labels;
}

bool holds_row(const Set& set, std::int64_t row) {
  return set.samples.defined() && set.samples.eq(row).any().item<bool>();
}

// Adds the set of each row of the training table.
void add_sets(const Sets& sets, Value& rows) {
  const std::pair<const char*, const Set*> named[] = {
      {"train", &sets.train}, {"validation", &sets.validation}, {"test", &sets.test}};
  rows["set"] = Value::array();
  for (std::int64_t row = 0; row < std::ssize(rows["before"]); ++row) {
    std::string of;
    for (const auto& [name, set] : named) {
      if ((set == &sets.train || set->of_training) && holds_row(*set, row)) of = name;
    }
    rows["set"].push_back(of);
  }
}

}  // namespace

Value preview(const Sets& sets) {
  const Set& train = sets.train;
  const datasets::Batch first = first_samples(train, kSamplesShown);
  Value page = train.dataset->preview(train.samples, first);
  if (page.contains("rows")) add_sets(sets, page["rows"]);
  if (!page.empty()) return page;
  page = preview_tensors(train, first);
  const auto shape = train.dataset->describe().value("image", std::vector<std::int64_t>());
  page["images"] = pictures_of(first.inputs.front().second, shape, labels_of(first, class_names(*train.dataset)));
  return page;
}

}  // namespace ddp::data
