#include "data/split.h"

#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "config/length.h"

namespace ddp::data {
namespace {

// The number of samples of each value.
using Counts = std::unordered_map<std::int64_t, std::int64_t>;

Counts count(const std::int64_t* values, std::int64_t size) {
  Counts counts;
  for (std::int64_t i = 0; i < size; ++i) ++counts[values[i]];
  return counts;
}

// Takes held-out samples from a permutation, one set at a time.
class Holder {
 public:
  Holder(const datasets::MapDataset& dataset, at::Tensor order)
      : dataset_(dataset), order_(std::move(order)), taken_(static_cast<std::size_t>(order_.numel())) {}

  std::vector<std::int64_t> take(const config::HeldOut& options, const std::string& section) {
    if (options.split == 0) return {};
    if (options.stratify) return take_by_class(options.split, section);
    const std::int64_t wanted = config::held_out(size(), options.split);
    if (!options.by.empty()) return take_by_group(wanted, options.by, section);
    return take_first([wanted, held = std::int64_t{0}](std::int64_t) mutable { return held++ < wanted; });
  }

  std::vector<std::int64_t> rest() const {
    std::vector<std::int64_t> left;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i]) left.push_back(static_cast<std::int64_t>(i));
    }
    return left;
  }

  std::vector<std::string> warnings = {};

 private:
  std::int64_t size() const { return order_.numel(); }

  // Takes the remaining samples for which `wants` returns true, in the order of the permutation.
  template <class Wants>
  std::vector<std::int64_t> take_first(Wants wants) {
    std::vector<std::int64_t> held;
    const std::int64_t* order = order_.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < size(); ++i) {
      const auto sample = static_cast<std::size_t>(order[i]);
      if (taken_[sample] || !wants(order[i])) continue;
      taken_[sample] = true;
      held.push_back(order[i]);
    }
    return held;
  }

  std::vector<std::int64_t> take_by_class(double share, const std::string& section) {
    const at::Tensor classes = dataset_.classes();
    if (!classes.defined()) {
      throw usage_error("stratify needs one class for each sample, and the targets of this dataset are not classes",
                        section + ".stratify", "leave stratify out");
    }
    const at::Tensor values = classes.contiguous();
    const std::int64_t* of = values.const_data_ptr<std::int64_t>();
    Counts left = count(of, size());
    for (auto& [value, samples] : left) {
      if (samples == 1 && value >= 0) {
        throw usage_error(
            "class " + dataset_.class_name(value) + " has only one sample, which cannot be divided",
            section + ".stratify",
            "leave stratify out, or give the class more samples; to predict a number, give loss = \"mse\"");
      }
      samples = static_cast<std::int64_t>(std::floor(share * static_cast<double>(samples) + 0.5));
    }
    return take_first([&](std::int64_t sample) { return left[of[sample]]-- > 0; });
  }

  // Reports an error of the column as an error of the key that names it.
  at::Tensor groups_of(const std::string& column, const std::string& key) const try {
    return dataset_.groups(column);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    const std::string holder = error.where() == "dataset" ? "the dataset" : error.where();
    throw usage_error(holder + " " + error.summary(), key, error.remedy());
  }

  std::vector<std::int64_t> take_by_group(std::int64_t wanted, const std::string& column, const std::string& section) {
    const at::Tensor values = groups_of(column, section + ".by").contiguous();
    const std::int64_t* of = values.const_data_ptr<std::int64_t>();
    const Counts sizes = count(of, size());
    if (const auto blank = sizes.find(-1); blank != sizes.end() && blank_column_ != column) {
      blank_column_ = column;
      warnings.push_back(section + ".by: " + std::to_string(blank->second) + " rows have no value in column \"" +
                         column + "\"; they stay together, as one group");
    }
    std::unordered_map<std::int64_t, bool> held_out;
    std::int64_t held = 0;
    const std::int64_t* order = order_.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < size() && held < wanted; ++i) {
      const std::int64_t group = of[order[i]];
      if (taken_[static_cast<std::size_t>(order[i])] || !held_out.try_emplace(group, true).second) continue;
      held += sizes.at(group);
    }
    return take_first([&](std::int64_t sample) { return held_out.contains(of[sample]); });
  }

  const datasets::MapDataset& dataset_;
  const at::Tensor order_;
  std::vector<bool> taken_;
  std::string blank_column_;  // the last one that was warned of
};

}  // namespace

Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test) {
  const auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(validation.seed));
  Holder holder(dataset, at::randperm(dataset.size(), generator, at::TensorOptions().dtype(at::kLong)));
  Parts parts;
  parts.validation = at::tensor(holder.take(validation, "validation"), at::kLong);
  parts.test = at::tensor(holder.take(test, "test"), at::kLong);
  parts.train = at::tensor(holder.rest(), at::kLong);
  parts.warnings = std::move(holder.warnings);
  return parts;
}

}  // namespace ddp::data
