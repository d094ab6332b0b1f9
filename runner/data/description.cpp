#include "data/description.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <ATen/ops/aminmax.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/isfinite.h>

#include "config/data_description.h"

namespace ddp::data {
namespace {

using config::Value;

constexpr std::size_t kClassesNamed = 1000;
// Greater numbers are probably not classes, and counting takes memory for each class.
constexpr std::int64_t kMostClasses = 100'000;

std::vector<std::pair<const char*, const Set*>> sets_with_data(const Sets& sets) {
  std::vector<std::pair<const char*, const Set*>> named = {{"train", &sets.train}};
  if (sets.validation.dataset) named.emplace_back("validation", &sets.validation);
  if (sets.test.dataset) named.emplace_back("test", &sets.test);
  return named;
}

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
  for (const auto& [name, set] : sets_with_data(sets)) {
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

}  // namespace

at::Tensor classes_of(const Set& set) {
  const auto* map = set.map();
  const at::Tensor all = map == nullptr ? at::Tensor() : map->classes();
  return all.defined() ? all.index_select(0, set.samples) : all;
}

Value describe(const Sets& sets, const datasets::Batch& first) {
  config::DataDescription description{.of_dataset = sets.train.dataset->describe()};
  for (const auto& [name, set] : sets_with_data(sets)) {
    config::SetDescription one{.set = name};
    if (set->samples.defined()) one.samples = set->size();
    const Value own = set->dataset->describe();
    if (own.contains("tokens")) one.tokens = own.at("tokens").get<std::int64_t>();
    description.sets.push_back(std::move(one));
  }
  add_classes(sets, description.of_dataset.value("classes", std::vector<std::string>()), description);
  description.first_batch = {.inputs = describe_tensors(first.inputs), .targets = describe_tensors(first.targets)};
  return config::written(description);
}

}  // namespace ddp::data
