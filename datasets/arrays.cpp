#include "datasets/arrays.h"

#include <algorithm>

#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/where.h>

#include "base/error.h"
#include "config/data_description.h"
#include "datasets/files.h"

namespace ddp::datasets {
namespace {

// Bytes. Below this size, a gather takes less time than the hand-over from a loader thread.
constexpr std::int64_t kSmall = 64 << 20;
// Numbers of a block in a pass over all rows: so few that LibTorch hands none to other threads.
constexpr std::int64_t kNumbersAtOnce = 1 << 15;

void require_same_rows(const ArrayRows& first, const ArrayRows& other) {
  if (first.rows() == other.rows()) return;
  throw usage_error(
      "has " + std::to_string(other.rows()) + " rows, but " + first.shown() + " has " + std::to_string(first.rows()),
      other.shown(), "row i of each array belongs to sample i");
}

// Calls `use` with the rows of a target, some at a time, and the number of the first one.
template <class Use>
void each_block(const ArrayRows& target, const Use& use) {
  const std::int64_t most = std::max<std::int64_t>(kNumbersAtOnce / c10::multiply_integers(target.shape()), 1);
  for (std::int64_t begin = 0; begin < target.rows(); begin += most) {
    use(target.range(begin, std::min(begin + most, target.rows())), begin);
  }
}

// Throws the error of `check` for the first row that it refuses, with the row's place.
void require_rows(const ArrayRows& target, const at::Tensor& rows, std::int64_t begin,
                  const std::function<void(const at::Tensor&)>& check) try {
  check(rows);
} catch (const Error& error) {
  if (rows.size(0) == 1) {
    const std::string row = "row " + std::to_string(begin) + ": " + error.summary();
    // A class without an output: the model is the likelier mistake.
    if (error.where() == "model") throw usage_error(target.shown() + ": " + row, "model", error.remedy());
    throw usage_error(row, target.shown(), error.remedy());
  }
  const std::int64_t half = rows.size(0) / 2;
  require_rows(target, rows.narrow(0, 0, half), begin, check);
  require_rows(target, rows.narrow(0, half, rows.size(0) - half), begin + half, check);
  throw;
}

void refuse_negative(const ArrayRows& target, const at::Tensor& rows, std::int64_t begin, std::int64_t ignored) {
  const at::Tensor bad = rows.lt(0).logical_and(rows.ne(ignored));
  const at::Tensor places = bad.flatten(1).any(1).nonzero();
  if (places.numel() == 0) return;
  const auto row = places.select(0, 0).item<std::int64_t>();
  const auto value = rows[row].masked_select(bad[row]).select(0, 0).item<std::int64_t>();
  throw usage_error("row " + std::to_string(begin + row) + " has class " + std::to_string(value), target.shown(),
                    "classes count from 0; " + std::to_string(ignored) +
                        " marks a target that the loss ignores; to ignore " + std::to_string(value) +
                        " instead, give loss = { name = \"cross_entropy\", ignore_index = " + std::to_string(value) +
                        " }");
}

// Returns the number of classes; 0: no target counts.
std::int64_t count_classes(const ArrayRows& target, std::int64_t ignored) {
  std::int64_t largest = -1;
  each_block(target, [&](const at::Tensor& block, std::int64_t begin) {
    const at::Tensor rows = block.unsqueeze(-1);
    refuse_negative(target, rows, begin, ignored);
    const at::Tensor counted = rows.masked_select(rows.ne(ignored));
    if (counted.numel() > 0) largest = std::max(largest, counted.max().item<std::int64_t>());
  });
  return largest + 1;
}

}  // namespace

Arrays::Arrays(std::vector<ArrayRows> inputs, std::vector<ArrayRows> targets, const Context& context, NamedTensors held)
    : inputs_(std::move(inputs)),
      targets_(std::move(targets)),
      ignored_(context.ignored_target),
      trains_(context.role == Role::train),
      held_(std::move(held)) {
  for (const ArrayRows& rows : inputs_) require_same_rows(inputs_.front(), rows);
  for (const ArrayRows& rows : targets_) require_same_rows(inputs_.front(), rows);
}

Batch Arrays::gather(const at::Tensor& indices, std::int64_t) const {
  Batch batch;
  for (const ArrayRows& rows : inputs_) batch.inputs.emplace_back(rows.name(), rows.gather(indices));
  for (const ArrayRows& rows : targets_) batch.targets.emplace_back(rows.name(), rows.gather(indices));
  return batch;
}

bool Arrays::in_memory() const {
  std::int64_t bytes = 0;
  for (const ArrayRows& rows : inputs_) bytes += rows.bytes();
  for (const ArrayRows& rows : targets_) bytes += rows.bytes();
  return bytes <= kSmall;
}

at::Tensor Arrays::classes() const {
  if (targets_.empty()) return {};
  const ArrayRows& target = targets_.front();
  const auto& shape = target.shape();
  const bool one_a_row = shape.empty() || shape == std::vector<std::int64_t>{1};
  if (targets_.size() > 1 || target.type() != at::kLong || !one_a_row) return {};
  const at::Tensor all = target.range(0, target.rows()).flatten();
  return at::where(all.eq(ignored_), kNoClass, all);
}

bool Arrays::check_targets(const std::function<void(const at::Tensor&)>& check) const {
  for (const ArrayRows& target : targets_) {
    each_block(target, [&](const at::Tensor& rows, std::int64_t begin) { require_rows(target, rows, begin, check); });
  }
  return true;
}

config::Value Arrays::facts() const {
  config::Value facts{{"rows", size()}};
  if (targets_.empty()) return facts;
  const ArrayRows& target = targets_.front();
  if (targets_.size() > 1 || target.type() != at::kLong) return facts;
  if (const std::int64_t classes = count_classes(target, ignored_); classes > 0) facts["num_classes"] = classes;
  return facts;
}

std::vector<std::string> Arrays::warnings() const {
  const at::Tensor all = trains_ ? classes() : at::Tensor();
  const at::Tensor counted = all.defined() ? all.masked_select(all.ne(kNoClass)) : all;
  if (!counted.defined() || counted.numel() == 0 || counted.min().item<std::int64_t>() != 1) return {};
  return {targets_.front().shown() +
          ": no sample has class 0, from which classes count, so one output of the model learns nothing; if the "
          "classes count from 1, subtract 1"};
}

std::vector<std::string> ArrayOptions::target_names(Role role) const {
  if (role == Role::prediction) return {};
  return one_or_more(targets, "dataset.targets");
}

config::Value Arrays::describe() const {
  config::Value arrays = config::Value::array();
  const auto add = [&](const ArrayRows& rows, const char* role) {
    config::ArrayDescription array{
        .name = rows.shown(), .role = role, .dtype = rows.stored_type(), .shape = {rows.rows()}};
    for (const std::int64_t extent : rows.shape()) array.shape.push_back(extent);
    arrays.push_back(config::written(array));
  };
  for (const ArrayRows& rows : inputs_) add(rows, "input");
  for (const ArrayRows& rows : targets_) add(rows, "target");
  return {{"rows", size()}, {"arrays", std::move(arrays)}};
}

void ArrayOptions::fields(config::Fields& f, const std::string& are, bool paths) {
  const auto option = [&](const char* name, const char* doc) {
    return config::Option{.name = name,
                          .doc = doc + are,
                          .required = true,
                          .path = paths,
                          .types = {config::Type::text, config::Type::list},
                          .item = config::Type::text};
  };
  f(option("inputs", "in the model's order: "), inputs);
  f(option("targets", ""), targets);
  f({.name = "scale", .doc = "factor of the inputs, which become float32"}, scale);
}

void NamedArrayOptions::fields(config::Fields& f) {
  f(path_option("a file, a glob, or a list of these; their rows are concatenated"), path);
  arrays.fields(f, "the name of an array in the file, or a list of them", /*paths=*/false);
}

std::vector<ArrayRows> named_rows(const std::vector<std::string>& names, std::size_t files, Conversion conversion,
                                  const FindArray& find) {
  std::vector<ArrayRows> all;
  for (const std::string& name : names) {
    std::vector<format::Array> parts;
    for (std::size_t file = 0; file < files; ++file) parts.push_back(find(file, name));
    all.emplace_back(unused_name(name, all), std::move(parts), conversion);
  }
  return all;
}

std::string unused_name(const std::string& name, const std::vector<ArrayRows>& taken) {
  const auto is_taken = [&](const std::string& one) {
    return std::any_of(taken.begin(), taken.end(), [&](const ArrayRows& rows) { return rows.name() == one; });
  };
  std::string unused = name;
  for (int number = 2; is_taken(unused); ++number) unused = name + "_" + std::to_string(number);
  return unused;
}

}  // namespace ddp::datasets
