#include "data/sets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/installation.h"
#include "data/rows.h"
#include "data/split.h"

namespace ddp::data {
namespace {

using config::Value;
using datasets::Role;

constexpr const char* kPreprocessing = "preprocessing";
constexpr const char* kTransforms = "transforms";
constexpr const char* kRows = "rows";

at::Tensor bytes_of_text(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_of_bytes(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

// Returns the tensors whose names begin with the prefix, and removes the prefix.
NamedTensors with_prefix(const NamedTensors& tensors, const std::string& prefix) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), tensor);
  }
  return found;
}

// Returns the name of a set in the result of hold().
std::string name_of(Role role) {
  return role == Role::train ? "train" : role == Role::validation ? "validation" : "test";
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

class Builder {
 public:
  Builder(const config::Experiment& e, int rank, int world_size, const NamedTensors& held, Value preprocessing,
          std::optional<config::Rows> rows = {})
      : e_(e),
        rank_(rank),
        world_size_(world_size),
        held_(held),
        preprocessing_(std::move(preprocessing)),
        rows_(std::move(rows)) {
    trained_before_ = !preprocessing_.is_null();
    if (const at::Tensor fitted = tensor_named(kPreprocessing, held); fitted.defined()) {
      preprocessing_ = Value::parse(text_of_bytes(fitted));
    }
    splits_itself_ = datasets::registry().traits(e.dataset.name).value("splits_itself", false);
  }

  Sets build() {
    Sets sets;
    auto train = build(Role::train, e_.dataset);
    if (auto* map = dynamic_cast<datasets::MapDataset*>(train.get())) {
      Parts parts = parts_of(*map);
      require_training(parts);
      if (held_.empty()) {
        sets.rows = rows_ ? *rows_ : marks_of(*map, e_.validation.known_rows);
        note_held_out(sets, *map, parts.validation);
        note_held_out(sets, *map, parts.test);
        map->fit(parts.train);
      }
      sets.train.samples = map->usable(parts.train);
      std::shared_ptr<const datasets::Dataset> measured = map->for_measuring();
      if (!measured) measured = train;
      take(sets.validation, map->usable(parts.validation), measured);
      take(sets.test, map->usable(parts.test), measured);
      sets.warnings = std::move(parts.warnings);
      warn_of(sets.validation, "validation", e_.validation, sets);
      warn_of(sets.test, "test", e_.test, sets);
      if (held_.empty()) {
        for (const std::string& column : std::set{e_.validation.by, e_.test.by, e_.folds.by.value_or("")})
          warn_of_feature(column, *train, sets);
      }
    }
    if (preprocessing_.is_null()) preprocessing_ = train->preprocessing();
    sets.preprocessing = preprocessing_;
    sets.train.dataset = std::move(train);
    add_own(sets, sets.validation, Role::validation, e_.validation, sets.train.dataset);
    add_own(sets, sets.test, Role::test, e_.test, sets.train.dataset);
    sets.cache = cache_;
    if (const at::Tensor rows = tensor_named(kRows, held_); rows.defined()) {
      sets.rows = config::read_written<config::Rows>(Value::parse(text_of_bytes(rows)));
    }
    return sets;
  }

  Sets build_test() {
    Sets sets;
    add_own(sets, sets.test, Role::test, e_.test);
    sets.preprocessing = preprocessing_;
    return sets;
  }

 private:
  std::shared_ptr<datasets::Dataset> build(Role role, const config::Component& component,
                                           std::shared_ptr<const datasets::Dataset> trained = nullptr) const {
    return datasets::registry().build(component.name, component.with_copies(),
                                      datasets::Context{.role = role,
                                                        .loss = e_.loss.name,
                                                        .ignored_target = e_.ignored_target(),
                                                        .preprocessing = preprocessing_,
                                                        .trained_before = trained_before_,
                                                        .validation_share = e_.validation.split,
                                                        .test_share = e_.test.split,
                                                        .held = with_prefix(held_, name_of(role) + "."),
                                                        .trained = std::move(trained),
                                                        .own_transforms = has_own_transforms(e_, component),
                                                        .rank = rank_,
                                                        .world_size = world_size_,
                                                        .seed = static_cast<std::uint64_t>(e_.seed),
                                                        .window = e_.loader.stream ? e_.loader.window : 0,
                                                        .open = opener_of(component)});
  }

  format::OpenBytes opener_of(const config::Component& component) const {
    if (!e_.loader.stream || component.objects.empty()) return format::open_local;
    if (!cache_) {
      cache_ = format::open_object_cache(objects_folder(), e_.loader.cache_bytes(), e_.loader.retries);
    }
    std::map<std::string, config::Object> objects;
    for (const config::Object& object : component.objects) {
      const auto& [same, is_new] = objects.emplace(object.file, object);
      if (is_new || same->second.url == object.url) continue;
      throw usage_error("is the place of two URLs that differ only in their queries", object.file,
                        "leave loader.stream out");
    }
    return [cache = cache_, objects = std::move(objects)](const std::filesystem::path& path) {
      const auto object = objects.find(path.string());
      return object == objects.end() ? format::open_local(path) : cache->open(object->second);
    };
  }

  Parts parts_of(const datasets::MapDataset& dataset) const {
    if (!held_.empty()) {
      return {.train = tensor_named("samples.train", held_),
              .validation = tensor_named("samples.validation", held_),
              .test = tensor_named("samples.test", held_)};
    }
    if (splits_itself_) {
      const at::Tensor none = at::empty({0}, at::kLong);
      return {.train = at::arange(dataset.size(), at::kLong), .validation = none, .test = none};
    }
    Parts parts = split(dataset, e_.validation, e_.test, e_.folds);
    if (dataset.block_begins().empty()) return parts;
    // In the order of the permutation each batch would read many blocks.
    for (at::Tensor* part : {&parts.validation, &parts.test}) *part = std::get<0>(part->sort());
    return parts;
  }

  // Throws if no sample is left to train on: a run would end at once, without a step.
  void require_training(const Parts& parts) const {
    if (parts.train.numel() > 0) return;
    const std::int64_t held[] = {parts.validation.numel(), parts.test.numel()};
    const std::int64_t all = held[0] + held[1];
    if (all == 0) throw usage_error("has no sample to train on", "dataset", "give data that have some");
    throw usage_error("leaves no sample to train on: of " + std::to_string(all) + " samples, " +
                          std::to_string(held[0]) + " are for validation and " + std::to_string(held[1]) +
                          " for the test",
                      held[0] > 0 ? "validation.split" : "test.split", "use a smaller split, or give more samples");
  }

  static void take(Set& set, const at::Tensor& samples, const std::shared_ptr<const datasets::Dataset>& dataset) {
    if (!samples.defined() || samples.numel() == 0) return;
    set = {.dataset = dataset, .samples = samples, .of_training = true};
  }

  // Warns of a held-out set that is more than a quarter larger or smaller than the file says.
  static void warn_of(const Set& set, const std::string& section, const config::HeldOut& options, Sets& sets) {
    if (!set.of_training || options.split == 0) return;
    const auto all = static_cast<double>(samples_shared(sets));
    const double wanted = options.split * all;
    const double difference = std::abs(static_cast<double>(set.size()) - wanted);
    if (difference <= wanted / 4 || difference < 1) return;
    sets.warnings.push_back(section + " has " + percent(static_cast<double>(set.size()) / all) + " of the samples, " +
                            std::to_string(set.size()) + " of " + std::to_string(samples_shared(sets)) + "; " +
                            section + ".split is " + percent(options.split));
  }

  // Warns of a column of `by` that is also a feature.
  static void warn_of_feature(const std::string& by, const datasets::Dataset& dataset, Sets& sets) {
    if (by.empty()) return;
    const auto columns = dataset.describe().columns;
    for (const auto& column : columns ? *columns : std::vector<config::ColumnDescription>()) {
      if (column.name != by || column.role != "feature") continue;
      sets.warnings.push_back("column \"" + by +
                              "\" is a feature, and `by` names it: training never sees the values of held-out "
                              "samples; dataset.drop = [\"" +
                              by + "\"] leaves it out");
    }
  }

  // Adds a set with its own dataset; or the part for this role of a dataset that splits itself, from the data of
  // `trained`.
  void add_own(Sets& sets, Set& set, Role role, const config::HeldOut& options,
               const std::shared_ptr<const datasets::Dataset>& trained = nullptr) const {
    const bool has_part = splits_itself_ && options.split > 0;
    if (options.dataset.name.empty() && !has_part) return;
    const auto dataset = has_part ? build(role, e_.dataset, trained) : build(role, options.dataset);
    set.dataset = dataset;
    set.of_training = false;  // held samples were taken as a part of the training dataset
    auto* const map = dynamic_cast<datasets::MapDataset*>(dataset.get());
    if (map == nullptr) throw usage_error("generates unlimited samples, which cannot be evaluated", name_of(role));
    if (!held_.empty()) {
      set.samples = tensor_named("samples." + name_of(role), held_);
      return;
    }
    const at::Tensor all = at::arange(map->size(), at::kLong);
    note_held_out(sets, *map, all);
    map->fit(all);
    set.samples = map->usable(all);
  }

  // Notes which rows are measured, unless another set is.
  void note_held_out(Sets& sets, const datasets::MapDataset& dataset, const at::Tensor& samples) const {
    if (!rows_ && sets.rows.held_out.empty() && samples.numel() > 0)
      sets.rows.held_out = hash_of_rows(dataset, samples);
  }

  const config::Experiment& e_;
  mutable std::shared_ptr<format::ObjectCache> cache_ = {};  // of streams of URLs
  const int rank_;
  const int world_size_;
  const NamedTensors& held_;
  bool splits_itself_ = false;
  bool trained_before_ = false;
  Value preprocessing_;
  const std::optional<config::Rows> rows_;
};

}  // namespace

Sets build_sets(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held,
                const Value& preprocessing, const std::optional<config::Rows>& rows) {
  return Builder(experiment, rank, world_size, held, preprocessing, rows).build();
}

Sets build_whole(const config::Experiment& experiment, int rank, int world_size, const NamedTensors& held,
                 const Value& preprocessing) {
  config::Experiment whole = experiment;
  whole.test = {};
  whole.test.dataset = dataset_to_measure(experiment);
  whole.validation = {};
  return Builder(whole, rank, world_size, held, preprocessing).build_test();
}

config::Component dataset_to_measure(const config::Experiment& experiment) {
  config::Component dataset = experiment.dataset;
  for (const config::Component* own : {&experiment.validation.dataset, &experiment.test.dataset}) {
    if (own->name != dataset.name || !has_own_transforms(experiment, *own)) continue;
    dataset.options[kTransforms] = own->options.at(kTransforms);
    break;
  }
  return dataset;
}

bool has_own_transforms(const config::Experiment& experiment, const config::Component& dataset) {
  const auto own = dataset.options.find(kTransforms);
  return own != dataset.options.end() && *own != experiment.dataset.options.value(kTransforms, Value::array());
}

NamedTensors hold(const Sets& sets) {
  NamedTensors all;
  for (const auto& [name, set] : sets.by_name()) {
    if (!set->dataset) continue;
    if (set->samples.defined()) all.emplace_back(std::string("samples.") + name, set->samples);
    if (set->of_training) continue;
    for (const auto& [tensor_name, tensor] : set->dataset->held()) {
      all.emplace_back(std::string(name) + "." + tensor_name, tensor);
    }
  }
  if (!sets.preprocessing.is_null()) all.emplace_back(kPreprocessing, bytes_of_text(sets.preprocessing.dump()));
  all.emplace_back(kRows, bytes_of_text(config::written(sets.rows).dump()));
  // Sort by element size, because tensors are contiguous in the file: after an odd number of bytes, 8-byte elements
  // would not be aligned for mapping.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  return all;
}

namespace {

// Adds the sizes that follow from the shape of a sample.
void add_sizes(Value& facts, const datasets::Batch& batch) {
  const at::Tensor& input = batch.inputs.front().second;
  if (batch.inputs.size() == 1 && input.is_floating_point() && input.dim() == 2) facts["in_features"] = input.size(1);
  if (batch.inputs.size() == 1 && input.dim() == 4) {
    facts["in_channels"] = input.size(1);
    if (input.size(2) == input.size(3)) facts["image_size"] = input.size(2);
  }
  if (batch.targets.empty()) return;
  const at::Tensor& target = batch.targets.front().second;
  if (target.is_floating_point() && target.dim() <= 2) facts["out_features"] = target.dim() == 2 ? target.size(1) : 1;
}

std::vector<std::string> warnings_of(const Sets& sets) {
  std::vector<std::string> all = sets.warnings;
  for (const auto& [name, set] : sets.by_name()) {
    if (!set->dataset || set->of_training) continue;
    const auto own = set->dataset->warnings();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

constexpr std::int64_t kLooked = 2;  // number of samples for facts_of()

}  // namespace

std::int64_t samples_shared(const Sets& sets) {
  std::int64_t all = 0;
  for (const auto& [name, set] : sets.by_name()) all += sets.shares(*set) ? set->size() : 0;
  return all;
}

datasets::Batch first_samples(const Set& set, std::int64_t most) {
  if (const auto* drawn = dynamic_cast<const datasets::DrawnDataset*>(set.dataset.get())) return drawn->draw(most, {});
  for (std::int64_t begin = 0;; begin += most) {
    const std::int64_t count = std::min(most, set.size() - begin);
    try {
      return set.map()->gather(set.samples.narrow(0, begin, count), /*epoch=*/0);
    } catch (const Error&) {
      // Undecodable samples may be left out, possibly all of these: try the next ones.
      if (set.dataset->left_out().empty() || begin + count >= set.size()) throw;
    }
  }
}

Value facts_of(const Sets& sets, bool with_classes) {
  Value facts = {{"train_samples", sets.train.size()},
                 {"validation_samples", sets.validation.size()},
                 {"test_samples", sets.test.size()}};
  if (sets.train.dataset) {
    const bool is_empty = sets.train.map() != nullptr && sets.train.size() == 0;
    if (!is_empty) add_sizes(facts, first_samples(sets.train, kLooked));
    facts.update(sets.train.dataset->facts());
  }
  // A classifier has one output for each class.
  if (facts.contains("num_classes")) facts["out_features"] = facts["num_classes"];
  const at::Tensor classes = with_classes && sets.train.map() != nullptr ? sets.train.map()->classes() : at::Tensor();
  if (classes.defined()) {
    const at::Tensor own = classes.index_select(0, sets.train.samples);
    const at::Tensor counts =
        at::bincount(own.masked_select(own.ge(0)), {}, facts.value("num_classes", std::int64_t{0}));
    facts["class_counts"] = std::vector<std::int64_t>(counts.const_data_ptr<std::int64_t>(),
                                                      counts.const_data_ptr<std::int64_t>() + counts.numel());
  }
  facts["rows"] = config::written(sets.rows);
  facts["warnings"] = warnings_of(sets);
  return facts;
}

}  // namespace ddp::data
