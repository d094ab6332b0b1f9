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

// Rows that came together: from `begin` up to, but not including, `end`.
struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool is_first() const { return begin == 0; }
};

// Returns the parts that the known numbers of rows divide `size` rows into; the last one may be empty.
std::vector<Rows> parts_of(std::int64_t size, const std::vector<std::int64_t>& known) {
  std::vector<Rows> parts;
  std::int64_t begin = 0;
  for (const std::int64_t end : known) {
    if (end > size) {
      throw usage_error("has " + std::to_string(size) + " rows, and the split was drawn from " + std::to_string(end),
                        "dataset", config::kOtherRowsRemedy);
    }
    parts.push_back({.begin = std::exchange(begin, end), .end = end});
  }
  parts.push_back({.begin = begin, .end = size});
  return parts;
}

Counts count(const std::int64_t* values, const Rows& rows) {
  Counts counts;
  for (std::int64_t i = rows.begin; i < rows.end; ++i) ++counts[values[i]];
  return counts;
}

// Takes held-out samples, one set at a time.
class Holder {
 public:
  Holder(const datasets::MapDataset& dataset, const std::vector<std::int64_t>& known)
      : dataset_(dataset), parts_(parts_of(dataset.size(), known)), taken_(static_cast<std::size_t>(dataset.size())) {}

  std::vector<std::int64_t> take(const config::HeldOut& options, std::int64_t seed, const std::string& section) {
    std::vector<std::int64_t> held;
    if (options.split == 0) return held;
    for (const Rows& rows : parts_) {
      const auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
      const at::Tensor p = at::randperm(rows.size(), generator, at::TensorOptions().dtype(at::kLong)).add_(rows.begin);
      const auto more = take_of(Drawn{.rows = rows, .order = p.const_data_ptr<std::int64_t>()}, options, section, held);
      held.insert(held.end(), more.begin(), more.end());
    }
    return held;
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
  // Rows in the order in which they are drawn.
  struct Drawn {
    Rows rows;
    const std::int64_t* order = nullptr;
  };

  // `before`: the samples of earlier rows that this set holds.
  std::vector<std::int64_t> take_of(const Drawn& drawn, const config::HeldOut& options, const std::string& section,
                                    const std::vector<std::int64_t>& before) {
    if (options.stratify) return take_by_class(drawn, options.split, section);
    const std::int64_t wanted = config::held_out(drawn.rows.size(), options.split);
    if (!options.by.empty()) return take_by_group(drawn, wanted, options.by, section, before);
    return take_first(drawn, [wanted, held = std::int64_t{0}](std::int64_t) mutable { return held++ < wanted; });
  }

  // Takes the remaining samples for which `wants` returns true, in the order in which they are drawn.
  template <class Wants>
  std::vector<std::int64_t> take_first(const Drawn& drawn, Wants wants) {
    std::vector<std::int64_t> held;
    for (std::int64_t i = 0; i < drawn.rows.size(); ++i) {
      const auto sample = static_cast<std::size_t>(drawn.order[i]);
      if (taken_[sample] || !wants(drawn.order[i])) continue;
      taken_[sample] = true;
      held.push_back(drawn.order[i]);
    }
    return held;
  }

  std::vector<std::int64_t> take_by_class(const Drawn& drawn, double share, const std::string& section) {
    const at::Tensor classes = dataset_.classes();
    if (!classes.defined()) {
      throw usage_error("stratify needs one class for each sample, and the targets of this dataset are not classes",
                        section + ".stratify", "leave stratify out");
    }
    const at::Tensor values = classes.contiguous();
    const std::int64_t* of = values.const_data_ptr<std::int64_t>();
    Counts left = count(of, drawn.rows);
    for (auto& [value, samples] : left) {
      if (samples == 1 && value >= 0 && drawn.rows.is_first()) {
        throw usage_error(
            "class " + dataset_.class_name(value) + " has only one sample, which cannot be divided",
            section + ".stratify",
            "leave stratify out, or give the class more samples; to predict a number, give loss = \"mse\"");
      }
      samples = static_cast<std::int64_t>(std::floor(share * static_cast<double>(samples) + 0.5));
    }
    return take_first(drawn, [&](std::int64_t sample) { return left[of[sample]]-- > 0; });
  }

  // Reports an error of the column as an error of the key that names it.
  at::Tensor groups_of(const std::string& column, const std::string& key) const try {
    return dataset_.groups(column);
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    const std::string holder = error.where() == "dataset" ? "the dataset" : error.where();
    throw usage_error(holder + " " + error.summary(), key, error.remedy());
  }

  std::vector<std::int64_t> take_by_group(const Drawn& drawn, std::int64_t wanted, const std::string& column,
                                          const std::string& section, const std::vector<std::int64_t>& before) {
    const at::Tensor values = groups_of(column, section + ".by").contiguous();
    const std::int64_t* of = values.const_data_ptr<std::int64_t>();
    const Counts sizes = count(of, drawn.rows);
    if (const auto blank = sizes.find(-1); blank != sizes.end() && blank_column_ != column) {
      blank_column_ = column;
      warnings.push_back(section + ".by: " + std::to_string(blank->second) + " rows have no value in column \"" +
                         column + "\"; they stay together, as one group");
    }
    std::unordered_map<std::int64_t, bool> held_out;
    for (std::int64_t i = 0; i < drawn.rows.begin; ++i) held_out[of[i]] = false;
    for (const std::int64_t sample : before) held_out[of[sample]] = true;
    std::int64_t held = 0;
    for (const auto& [group, size] : sizes) {
      if (const auto known = held_out.find(group); known != held_out.end() && known->second) held += size;
    }
    for (std::int64_t i = 0; i < drawn.rows.size() && held < wanted; ++i) {
      const std::int64_t group = of[drawn.order[i]];
      const bool is_taken = taken_[static_cast<std::size_t>(drawn.order[i])];
      if (is_taken || !held_out.try_emplace(group, true).second) continue;
      held += sizes.at(group);
    }
    return take_first(drawn, [&](std::int64_t sample) {
      const auto group = held_out.find(of[sample]);
      return group != held_out.end() && group->second;
    });
  }

  const datasets::MapDataset& dataset_;
  const std::vector<Rows> parts_;
  std::vector<bool> taken_;
  std::string blank_column_;  // the last one that was warned of
};

}  // namespace

Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test) {
  Holder holder(dataset, validation.known_rows);
  Parts parts;
  const auto take_validation = [&] {
    parts.validation = at::tensor(holder.take(validation, validation.seed, "validation"), at::kLong);
  };
  const bool is_first = !test.seed.is_number();
  if (is_first) take_validation();
  const std::int64_t seed = is_first ? validation.seed : test.seed.get<std::int64_t>();
  parts.test = at::tensor(holder.take(test, seed, "test"), at::kLong);
  if (!is_first) take_validation();
  parts.train = at::tensor(holder.rest(), at::kLong);
  parts.warnings = std::move(holder.warnings);
  return parts;
}

}  // namespace ddp::data
