#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randperm.h>

#include "catch.h"
#include "data/sets.h"
#include "data/split.h"
#include "errors.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::data {
namespace {

using Rows = std::vector<std::int64_t>;

// Samples with only a class and a group.
class Labelled : public datasets::MapDataset {
 public:
  explicit Labelled(Rows labels) : labels_(std::move(labels)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  datasets::Batch gather(const at::Tensor&, std::int64_t) const override { return {}; }
  at::Tensor classes() const override { return labels(); }
  at::Tensor groups(const std::string&) const override { return labels(); }

 private:
  at::Tensor labels() const {
    return at::from_blob(const_cast<std::int64_t*>(labels_.data()), {size()}, at::kLong).clone();
  }
  const Rows labels_;
};

Rows rows_of_tensor(const at::Tensor& tensor) {
  const std::int64_t* data = tensor.const_data_ptr<std::int64_t>();
  return {data, data + tensor.numel()};
}

// The permutation p of the contract.
Rows permutation(std::int64_t size, std::uint64_t seed) {
  return rows_of_tensor(at::randperm(size, at::detail::createCPUGenerator(seed), at::TensorOptions().dtype(at::kLong)));
}

config::Validation held(double share, bool stratify = false, const std::string& by = "") {
  config::Validation options;
  options.split = share;
  options.stratify = stratify;
  options.by = by;
  options.seed = 3;
  return options;
}

config::Test tested(double share, bool stratify = false, const std::string& by = "") {
  config::Test options;
  options.split = share;
  options.stratify = stratify;
  options.by = by;
  return options;
}

// The class of row i: 0 for half of the rows, 1 for a third, 2 for the others.
Labelled uneven(std::int64_t size) {
  Rows labels;
  for (std::int64_t i = 0; i < size; ++i) labels.push_back(i % 2 == 0 ? 0 : i % 3 == 0 ? 1 : 2);
  return Labelled(labels);
}

void check_is_partition(const Parts& parts, std::int64_t size) {
  Rows all = rows_of_tensor(parts.train);
  CHECK(std::is_sorted(all.begin(), all.end()));
  for (const auto* part : {&parts.validation, &parts.test}) {
    const Rows rows = rows_of_tensor(*part);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end());
  Rows every(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) every[static_cast<std::size_t>(i)] = i;
  CHECK(all == every);
}

}  // namespace

TEST_CASE("the test holds out the first samples of its permutation, and validation of its own what the test leaves") {
  const Labelled samples = uneven(103);
  const Rows p = permutation(103, 7);
  config::Test test = tested(0.15);
  test.seed = 7;
  const Parts parts = split(samples, held(0.2), test);
  check_is_partition(parts, 103);
  CHECK(rows_of_tensor(parts.test) == Rows(p.begin(), p.begin() + 15));
  Rows expected = permutation(103, 3);
  std::erase_if(expected, [&](std::int64_t row) { return std::find(p.begin(), p.begin() + 15, row) < p.begin() + 15; });
  CHECK(rows_of_tensor(parts.validation) == Rows(expected.begin(), expected.begin() + 20));
  CHECK(rows_of_tensor(split(samples, held(0.4), test).test) == rows_of_tensor(parts.test));
}

TEST_CASE("in runs of former versions the test takes the samples after those of validation") {
  const Rows p = permutation(103, 3);
  config::Test test = tested(0.15);
  test.seed = config::Test::kSeedOfValidation;
  const Parts parts = split(uneven(103), held(0.2), test);
  CHECK(rows_of_tensor(parts.validation) == Rows(p.begin(), p.begin() + 20));
  CHECK(rows_of_tensor(parts.test) == Rows(p.begin() + 20, p.begin() + 35));
}

TEST_CASE("rows that were added are split by themselves, and the others keep their set") {
  config::Validation validation = held(0.2);
  const Parts before = split(uneven(60), validation, tested(0.1));
  validation.known_rows = {60, 80};
  const Parts after = split(uneven(120), validation, tested(0.1));
  check_is_partition(after, 120);
  const Rows held_before = rows_of_tensor(before.validation), held_out = rows_of_tensor(after.validation);
  CHECK(Rows(held_out.begin(), held_out.begin() + 12) == held_before);
  const auto in_part = [&](std::int64_t row) { return row >= 60 && row < 80; };
  CHECK(std::count_if(held_out.begin(), held_out.end(), in_part) == 4);
  CHECK(held_out.size() == 12 + 4 + 8);
  CHECK(after.test.numel() == 6 + 2 + 4);
  CHECK(rows_of_tensor(after.test.narrow(0, 0, 6)) == rows_of_tensor(before.test));
  validation.known_rows = {121};
  CHECK(contains(error_of([&] { split(uneven(120), validation, {}); }), "has 120 rows"));
}

TEST_CASE("rows of a group that was there before join its set") {
  Rows groups;
  for (std::int64_t i = 0; i < 100; ++i) groups.push_back(i < 60 ? i % 7 : i % 10);
  config::Validation validation = held(0.3, false, "group");
  validation.known_rows = {60};
  const Parts parts = split(Labelled(groups), validation, tested(0.1, false, "group"));
  check_is_partition(parts, 100);
  std::map<std::int64_t, std::set<int>> sets_of_group;
  int set = 0;
  for (const auto* part : {&parts.train, &parts.validation, &parts.test}) {
    for (const std::int64_t row : rows_of_tensor(*part)) {
      sets_of_group[groups[static_cast<std::size_t>(row)]].insert(set);
    }
    ++set;
  }
  for (const auto& [group, sets] : sets_of_group) CHECK(sets.size() == 1);
}

TEST_CASE("a stratified split holds out the rounded share of each class, in the order of the permutation") {
  const std::int64_t size = 120;
  const Labelled samples = uneven(size);
  const Rows labels = rows_of_tensor(samples.classes());
  const Parts parts = split(samples, held(0.125, true), tested(0.1, true));
  check_is_partition(parts, size);
  std::map<std::int64_t, std::int64_t> sizes, left;
  for (const std::int64_t label : labels) ++sizes[label];
  Rows expected[2];
  std::set<std::int64_t> taken;
  const double shares[] = {0.125, 0.1};
  for (const int set : {1, 0}) {
    for (const auto& [label, count] : sizes) {
      left[label] = static_cast<std::int64_t>(std::floor(shares[set] * static_cast<double>(count) + 0.5));
    }
    for (const std::int64_t row : permutation(size, set == 0 ? 3 : 0)) {
      auto& of_class = left[labels[static_cast<std::size_t>(row)]];
      if (taken.contains(row) || of_class == 0) continue;
      --of_class;
      taken.insert(row);
      expected[set].push_back(row);
    }
  }
  CHECK(rows_of_tensor(parts.validation) == expected[0]);
  CHECK(rows_of_tensor(parts.test) == expected[1]);
  // 60, 20 and 40 rows: 7.5 becomes 8, 2.5 becomes 3.
  CHECK(expected[0].size() == 8 + 3 + 5);
}

TEST_CASE("a split by a column keeps the rows of a value together until enough are held out") {
  Rows groups;
  for (std::int64_t i = 0; i < 60; ++i) groups.push_back(i % 7);
  const Labelled samples(groups);
  const Parts parts = split(samples, held(0.3, false, "group"), tested(0.1, false, "group"));
  check_is_partition(parts, 60);
  const auto groups_in = [&](const at::Tensor& part) {
    std::set<std::int64_t> found;
    for (const std::int64_t row : rows_of_tensor(part)) found.insert(groups[static_cast<std::size_t>(row)]);
    return found;
  };
  std::set<std::int64_t> expected;
  std::size_t held_out = 0;
  for (const std::int64_t row : permutation(60, 3)) {
    const std::int64_t group = groups[static_cast<std::size_t>(row)];
    if (held_out >= 18) break;
    if (!groups_in(parts.test).contains(group) && expected.insert(group).second)
      held_out += static_cast<std::size_t>(std::count(groups.begin(), groups.end(), group));
  }
  CHECK(groups_in(parts.validation) == expected);
  CHECK(parts.validation.numel() >= 18);
  for (const std::int64_t group : groups_in(parts.test)) CHECK_FALSE(expected.contains(group));
  for (const std::int64_t group : groups_in(parts.train)) {
    CHECK_FALSE(expected.contains(group));
    CHECK_FALSE(groups_in(parts.test).contains(group));
  }
}

TEST_CASE("a class of one sample cannot be stratified") {
  const Labelled samples({0, 0, 0, 1, 0});
  const std::string error = error_of([&] { split(samples, held(0.5, true), {}); });
  CHECK(contains(error, "validation.stratify"));
  CHECK(contains(error, "one sample"));
}

TEST_CASE("training, validation and test of a text are parts of one token sequence that is encoded once") {
  const ScratchFolder folder;
  const std::string file = folder.write("parts.txt", std::string(1000, 'a') + std::string(1000, 'b'));
  config::Experiment e;
  e.dataset = {.name = "text", .options = {{"path", file}, {"block_size", 8}}};
  e.validation.split = 0.25;
  e.test.split = 0.1;
  const Sets sets = build_sets(e, 0, 1);
  const auto tokens_of = [](const Set& set) { return set.dataset->held().front().second; };
  const at::Tensor train = tokens_of(sets.train);
  CHECK(train.numel() == 1300);
  CHECK(tokens_of(sets.validation).numel() == 500);
  CHECK(tokens_of(sets.test).numel() == 200);
  for (const Set* set : {&sets.validation, &sets.test}) CHECK(tokens_of(*set).is_alias_of(train));
  CHECK(tokens_of(sets.validation).data_ptr() == static_cast<std::uint8_t*>(train.data_ptr()) + 1300);
}

}  // namespace ddp::data
