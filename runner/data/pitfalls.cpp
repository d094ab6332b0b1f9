#include "data/description.h"

#include <cmath>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include "datasets/table/encoder.h"

namespace ddp::data {
namespace {

// The rows of a set as the model gets them.
struct EncodedRows {
  std::vector<at::Tensor> inputs;  // [n, columns] each
  at::Tensor target;               // [n] or [n, columns]
};

EncodedRows encoded_rows(const Set& set) {
  const datasets::Batch batch = set.map()->gather(set.samples, /*epoch=*/0);
  EncodedRows rows{.inputs = {}, .target = batch.targets.front().second};
  for (const auto& [name, tensor] : batch.inputs) rows.inputs.push_back(tensor);
  return rows;
}

// Marks the rows of the second of two classes: bool [n]. Undefined: there are not two classes.
at::Tensor second_class(const EncodedRows& rows) {
  const at::Tensor& target = rows.target;
  if (target.numel() != target.size(0)) return {};
  const at::Tensor flat = target.flatten();
  const at::Tensor second = flat.eq(flat.max());
  return second.logical_or(flat.eq(flat.min())).all().item<bool>() ? second : at::Tensor();
}

// The natural logarithm of the number of ways to choose the rows of a class.
double ways_to_choose(std::int64_t rows, std::int64_t of_class) {
  const auto log_factorial = [](std::int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return log_factorial(rows) - log_factorial(of_class) - log_factorial(rows - of_class);
}

// Is there a number below all cells of one class and above all of the other?
bool splits(const at::Tensor& cells, const at::Tensor& second) {
  const at::Tensor of_first = cells.masked_select(second.logical_not()), of_second = cells.masked_select(second);
  return of_first.max().item<double>() < of_second.min().item<double>() ||
         of_second.max().item<double>() < of_first.min().item<double>();
}

// The place of each row's value of a category, from 1; 0: it has none.
at::Tensor values_of(const at::Tensor& cells) {
  if (!cells.is_floating_point()) return cells.flatten();
  const auto [most, place] = cells.max(1);
  return at::where(most.gt(0), place.add(1), 0);
}

// Does each value of a category have rows of one class? Returns the number of values; nothing: some have rows of both.
std::optional<std::int64_t> values_that_split(const at::Tensor& values, const at::Tensor& second) {
  const at::Tensor all = at::bincount(values), of_second = at::bincount(values.masked_select(second), {}, all.numel());
  const bool pure = of_second.eq(0).logical_or(of_second.eq(all)).all().item<bool>();
  return pure ? std::optional(all.gt(0).sum().item<std::int64_t>()) : std::nullopt;
}

void add_telling_columns(const EncodedRows& rows, const datasets::Encoder& encoder,
                         std::vector<std::string>& warnings) {
  constexpr double kSurely = 1e6;  // chance gives a warning once in so many tables
  const at::Tensor second = second_class(rows);
  if (!second.defined()) return;
  const std::int64_t n = second.numel(), of_second = second.sum().item<std::int64_t>();
  if (of_second == n) return;
  const double ways = ways_to_choose(n, of_second) - std::log(kSurely * static_cast<double>(encoder.features.size()));
  for (const datasets::EncodedColumns& columns : datasets::encoded_columns(encoder)) {
    if (columns.count == 0) continue;  // a category that is blank in all rows
    const at::Tensor cells = rows.inputs.at(columns.input).narrow(1, columns.begin, columns.count);
    bool tells = false;
    if (columns.is_category) {
      const std::optional<std::int64_t> values = values_that_split(values_of(cells), second);
      tells = values && static_cast<double>(*values) * std::log(2) < ways;
    }
    for (std::int64_t c = 0; !columns.is_category && !tells && c < columns.count; ++c) {
      tells = std::log(2) < ways && splits(cells.select(1, c), second);
    }
    if (!tells) continue;
    warnings.push_back("the column \"" + columns.name +
                       "\" alone tells the target of each training row: if nobody knows "
                       "it before the target, leave it out with dataset.drop");
  }
}

// The bytes of each row with its target.
void each_row(const EncodedRows& rows, const std::function<void(std::string_view)>& take) {
  std::vector<at::Tensor> parts = rows.inputs;
  parts.push_back(rows.target);
  for (at::Tensor& part : parts) part = part.contiguous();
  std::string row;
  for (std::int64_t r = 0; r < rows.target.size(0); ++r) {
    row.clear();
    for (const at::Tensor& part : parts) {
      const std::size_t bytes = part.nbytes() / static_cast<std::size_t>(part.size(0));
      row.append(static_cast<const char*>(part.const_data_ptr()) + static_cast<std::size_t>(r) * bytes, bytes);
    }
    take(row);
  }
}

void add_copies(const EncodedRows& training, const Set& held_out, const std::string& name,
                std::vector<std::string>& warnings) {
  constexpr std::int64_t kFew = 100;  // one row of so many
  if (!held_out.dataset || held_out.size() == 0) return;
  const std::hash<std::string_view> hash;
  std::unordered_set<std::size_t> known;
  each_row(training, [&](std::string_view row) { known.insert(hash(row)); });
  std::int64_t copies = 0;
  each_row(encoded_rows(held_out), [&](std::string_view row) { copies += known.contains(hash(row)) ? 1 : 0; });
  if (copies * kFew < held_out.size()) return;
  warnings.push_back(std::to_string(copies) + " of the " + std::to_string(held_out.size()) + " rows of " + name +
                     " are training rows too, with the same target: the model has seen their answers");
}

void add_rare_classes(const Sets& sets, const config::Experiment& e, std::vector<std::string>& warnings) {
  const at::Tensor classes = sets.train.map()->classes();
  if (!e.folds.on() || e.folds.order || !classes.defined()) return;
  const at::Tensor rows = at::cat({sets.train.samples, sets.validation.samples});
  const at::Tensor counts = at::bincount(classes.index_select(0, rows).clamp_min(0));
  for (std::int64_t c = 0; c < counts.numel(); ++c) {
    const auto count = counts[c].item<std::int64_t>();
    if (count == 0 || count >= *e.folds.k) continue;
    warnings.push_back("the class " + sets.train.map()->class_name(c) + " has " + std::to_string(count) +
                       (count == 1 ? " row" : " rows") + ", fewer than the " + std::to_string(*e.folds.k) +
                       " folds: some folds measure without it");
  }
}

}  // namespace

std::vector<std::string> pitfalls(const Sets& sets, const config::Experiment& experiment) {
  std::vector<std::string> warnings;
  if (!datasets::is_table(sets.preprocessing) || sets.train.map() == nullptr || sets.train.size() == 0) return warnings;
  const EncodedRows training = encoded_rows(sets.train);
  add_telling_columns(training, datasets::encoder_from_json(sets.preprocessing), warnings);
  add_copies(training, sets.validation, "the validation", warnings);
  add_copies(training, sets.test, "the test", warnings);
  add_rare_classes(sets, experiment, warnings);
  return warnings;
}

}  // namespace ddp::data
