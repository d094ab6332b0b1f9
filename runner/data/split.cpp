#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <map>
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

  // Takes the last rows in the order of a column; "": in their own.
  std::vector<std::int64_t> take_last(double share, const std::string& column) {
    const std::vector<std::int64_t> order = in_order(column, "validation.order");
    const std::int64_t held = config::held_out(std::ssize(order), share);
    std::vector<std::int64_t> rows(order.end() - held, order.end());
    for (const std::int64_t row : rows) taken_[static_cast<std::size_t>(row)] = true;
    return rows;
  }

  // Takes the rows of the fold that these options name.
  std::vector<std::int64_t> take_fold(const config::Folds& options) {
    if (options.order) return take_fold_in_order(options);
    const auto generator = at::detail::createCPUGenerator(
        static_cast<std::uint64_t>(options.seed.value_or(0) + options.repeat.value_or(0)));
    const at::Tensor p = at::randperm(dataset_.size(), generator, at::TensorOptions().dtype(at::kLong));
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < dataset_.size(); ++i) {
      const std::int64_t row = p.const_data_ptr<std::int64_t>()[i];
      if (!taken_[static_cast<std::size_t>(row)]) order.push_back(row);
    }
    if (std::ssize(order) < *options.k) throw too_few(std::ssize(order), "rows", *options.k);
    std::vector<std::int64_t> fold_of = options.by ? folds_of_groups(order, options)
                                        : options.stratify.value_or(false)
                                            ? folds_of_classes(order, *options.k)
                                            : folds_of_cuts(std::ssize(order), *options.k);
    std::vector<std::int64_t> held;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (fold_of[i] != *options.fold) continue;
      taken_[static_cast<std::size_t>(order[i])] = true;
      held.push_back(order[i]);
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

  // Reports an error of a column as an error of the key that names it.
  template <class Read>
  static at::Tensor column_for(const std::string& key, const Read& read) try {
    return read();
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    const std::string holder = error.where() == "dataset" ? "the dataset" : error.where();
    throw usage_error(holder + " " + error.summary(), key, error.remedy());
  }

  at::Tensor groups_of(const std::string& column, const std::string& key) const {
    return column_for(key, [&] { return dataset_.groups(column); });
  }

  static Error too_few(std::int64_t count, const std::string& what, std::int64_t k) {
    return usage_error("there are " + std::to_string(count) + " " + what + " for " + std::to_string(k) + " folds",
                       "folds.k", "give fewer folds");
  }

  // The rows that are left, in the order of a column's values; equal ones in their own order.
  std::vector<std::int64_t> in_order(const std::string& column, const std::string& key) const {
    std::vector<std::int64_t> rows = rest();
    if (column.empty()) return rows;
    const at::Tensor values = column_for(key, [&] { return dataset_.numbers(column); }).contiguous();
    const double* const of = values.const_data_ptr<double>();
    std::stable_sort(rows.begin(), rows.end(), [of](std::int64_t a, std::int64_t b) { return of[a] < of[b]; });
    return rows;
  }

  // TimeSeriesSplit(n_splits=k, gap=gap) of scikit-learn.
  std::vector<std::int64_t> take_fold_in_order(const config::Folds& options) {
    const std::vector<std::int64_t> order = in_order(*options.order, "folds.order");
    const std::int64_t n = std::ssize(order), k = *options.k, gap = options.gap.value_or(0), size = n / (k + 1);
    if (size == 0 || n - gap - size * k <= 0) throw too_few(n, gap > 0 ? "rows with this gap" : "rows", k);
    const std::int64_t begin = n - (k - *options.fold) * size;
    for (const std::int64_t row : order) taken_[static_cast<std::size_t>(row)] = true;
    for (std::int64_t i = 0; i < begin - gap; ++i)
      taken_[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = false;
    return {order.begin() + begin, order.begin() + begin + size};
  }

  // KFold of scikit-learn: the first n % k folds have one row more.
  static std::vector<std::int64_t> folds_of_cuts(std::int64_t n, std::int64_t k) {
    std::vector<std::int64_t> fold_of;
    for (std::int64_t fold = 0; fold < k; ++fold)
      fold_of.insert(fold_of.end(), static_cast<std::size_t>(n / k + (fold < n % k ? 1 : 0)), fold);
    return fold_of;
  }

  // StratifiedKFold of scikit-learn: of the rows sorted by class, the classes in the order of their first rows, each
  // k-th one is in a fold. So many rows of each class are in it, the first ones in the order of the permutation.
  std::vector<std::int64_t> folds_of_classes(const std::vector<std::int64_t>& order, std::int64_t k) const {
    const at::Tensor classes = dataset_.classes();
    if (!classes.defined()) {
      throw usage_error("stratify needs one class for each sample, and the targets of this dataset are not classes",
                        "folds.stratify", "leave stratify out");
    }
    const at::Tensor values = classes.contiguous();
    const auto* const of = values.const_data_ptr<std::int64_t>();
    std::vector<std::int64_t> rows = order, known;
    std::sort(rows.begin(), rows.end());
    Counts counts;
    for (const std::int64_t row : rows) {
      if (counts[of[row]]++ == 0) known.push_back(of[row]);
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second < k) throw too_few(most->second, "rows in the largest class", k);
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> left;  // of each class in each fold
    std::int64_t begin = 0;
    for (const std::int64_t value : known) {
      auto& in_folds = left[value];
      in_folds.assign(static_cast<std::size_t>(k), 0);
      for (std::int64_t i = begin; i < begin + counts[value]; ++i) ++in_folds[static_cast<std::size_t>(i % k)];
      begin += counts[value];
    }
    std::vector<std::int64_t> fold_of;
    for (const std::int64_t row : order) {
      auto& in_folds = left[of[row]];
      const auto free = std::find_if(in_folds.begin(), in_folds.end(), [](std::int64_t count) { return count > 0; });
      --*free;
      fold_of.push_back(free - in_folds.begin());
    }
    return fold_of;
  }

  // GroupKFold of scikit-learn: the largest group first, each into the fold with the fewest rows; of equal groups the
  // one with the greatest value.
  std::vector<std::int64_t> folds_of_groups(const std::vector<std::int64_t>& order,
                                            const config::Folds& options) const {
    const at::Tensor values = groups_of(*options.by, "folds.by").contiguous();
    const auto* const of = values.const_data_ptr<std::int64_t>();
    std::map<std::int64_t, std::int64_t> sizes;
    for (const std::int64_t row : order) ++sizes[of[row]];
    if (std::ssize(sizes) < *options.k) throw too_few(std::ssize(sizes), "values of " + *options.by, *options.k);
    std::vector<std::pair<std::int64_t, std::int64_t>> largest_last;
    for (const auto& [group, size] : sizes) largest_last.emplace_back(size, group);
    std::stable_sort(largest_last.begin(), largest_last.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::int64_t> rows_in(static_cast<std::size_t>(*options.k), 0);
    std::unordered_map<std::int64_t, std::int64_t> fold_of_group;
    for (auto group = largest_last.rbegin(); group != largest_last.rend(); ++group) {
      const auto lightest = std::min_element(rows_in.begin(), rows_in.end());
      fold_of_group[group->second] = lightest - rows_in.begin();
      *lightest += group->first;
    }
    std::vector<std::int64_t> fold_of;
    for (const std::int64_t row : order) fold_of.push_back(fold_of_group.at(of[row]));
    return fold_of;
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

Parts split(const datasets::MapDataset& dataset, const config::Validation& validation, const config::Test& test,
            const config::Folds& folds) {
  Holder holder(dataset, validation.known_rows);
  Parts parts;
  const auto take_validation = [&] {
    parts.validation = at::tensor(validation.is_of_folds ? holder.take_fold(folds)
                                  : validation.last > 0  ? holder.take_last(validation.last, validation.order)
                                                         : holder.take(validation, validation.seed, "validation"),
                                  at::kLong);
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
