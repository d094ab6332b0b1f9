#include <algorithm>
#include <map>
#include <set>

#include "catch.h"
#include "search/search.h"

namespace ddp::search {
namespace {

using config::Type;
using config::Node;
using config::Parameter;
using config::Value;

Node integer(std::int64_t value) { return {.kind = Type::integer, .scalar = value}; }

const Fits kAll = [](int) { return true; };

std::vector<Parameter> two_lists() {
  std::vector<Parameter> lists(2);
  lists[0].key = "a";
  lists[0].choices = {integer(1), integer(2)};
  lists[1].key = "b";
  lists[1].choices = {integer(3), integer(4), integer(5)};
  return lists;
}

std::vector<Value> values(const config::Point& point) {
  std::vector<Value> list;
  for (const Node& node : point) list.push_back(config::to_value(node));
  return list;
}

std::unique_ptr<Search> make(const std::string& method, Value options, const Space& space) {
  return methods().build(method, options, space);
}

// Runs all trials of the search, one after the other; each trial reaches `metric(trial, epochs)`. Returns the epochs of
// each trial.
std::map<int, std::int64_t> run_all(Search& search, std::int64_t whole,
                                    const std::function<double(int, std::int64_t)>& metric) {
  std::map<int, std::int64_t> epochs;
  while (const auto next = search.next(kAll)) {
    search.begun(*next);
    const std::int64_t until = next->epochs == 0 ? whole : next->epochs;
    REQUIRE(epochs[next->trial] < until);
    epochs[next->trial] = until;
    search.ended(next->trial, until, metric(next->trial, until));
  }
  return epochs;
}

}  // namespace

TEST_CASE("a grid has every combination once and varies the last parameter first") {
  const auto parameters = two_lists();
  const auto grid = make("grid", Value::object(), {.parameters = parameters});
  REQUIRE(grid->trials() == 6);
  CHECK(values(grid->point(0)) == std::vector<Value>{1, 3});
  CHECK(values(grid->point(1)) == std::vector<Value>{1, 4});
  CHECK(values(grid->point(5)) == std::vector<Value>{2, 5});
  for (int trial = 0; trial < 6; ++trial) {
    const auto next = grid->next(kAll);
    REQUIRE(next);
    CHECK(next->trial == trial);
    CHECK(next->epochs == 0);
    grid->begun(*next);
  }
  CHECK_FALSE(grid->next(kAll));
}

TEST_CASE("a trial that finds no free device lets the trials behind it go first and is not forgotten") {
  const auto parameters = two_lists();
  const auto grid = make("grid", Value::object(), {.parameters = parameters});
  const Fits odd = [](int trial) { return trial % 2 == 1; };
  std::vector<int> order;
  for (const Fits& fits : {odd, odd, odd, kAll, kAll, kAll}) {
    const auto next = grid->next(fits);
    REQUIRE(next);
    order.push_back(next->trial);
    grid->begun(*next);
  }
  CHECK(order == std::vector<int>{1, 3, 5, 0, 2, 4});
  CHECK_FALSE(grid->next(kAll));
}

TEST_CASE("a grid over a range and a grid that is too large are refused") {
  std::vector<Parameter> range(1);
  range[0].key = "lr";
  range[0].place.source = config::Source::assignment(1, "x");
  range[0].max = 1;
  CHECK_THROWS_AS(make("grid", Value::object(), {.parameters = range}), Error);
  std::vector<Parameter> many(6);
  for (Parameter& parameter : many) parameter.choices.assign(10, integer(1));
  CHECK_THROWS_AS(make("grid", Value::object(), {.parameters = many}), Error);
}

TEST_CASE("random values are the same for the same seed with any number of trials") {
  const auto parameters = two_lists();
  const auto few = make("random", {{"trials", 5}, {"seed", 3}}, {.parameters = parameters});
  const auto many = make("random", {{"trials", 500}, {"seed", 3}}, {.parameters = parameters});
  const auto other = make("random", {{"trials", 500}, {"seed", 4}}, {.parameters = parameters});
  std::map<std::string, int> counts;
  int different = 0;
  for (int trial = 0; trial < 500; ++trial) {
    if (trial < 5) CHECK(values(few->point(trial)) == values(many->point(trial)));
    different += values(other->point(trial)) != values(many->point(trial));
    ++counts[Value(values(many->point(trial))).dump()];
  }
  CHECK(different > 200);
  // Six combinations, each 83 times on average.
  CHECK(counts.size() == 6);
  for (const auto& [point, count] : counts) CHECK((count > 50 && count < 120));
}

TEST_CASE("asha continues the best trials of each rung and stops the rest") {
  const auto parameters = two_lists();
  const Space space{.parameters = parameters, .epochs = 9};
  const auto asha = make("asha", {{"trials", 9}, {"min_epochs", 1}, {"reduction_factor", 3}}, space);
  // Trials come in the order of their quality, the best last: each one is promoted while it is among the best so far.
  const auto epochs = run_all(*asha, 9, [](int trial, std::int64_t) { return 100.0 - trial; });
  CHECK(epochs.size() == 9);
  CHECK(epochs.at(8) == 9);
  CHECK(epochs.at(0) == 1);
  CHECK(epochs.at(1) == 1);
  const auto best_first = make("asha", {{"trials", 9}, {"min_epochs", 1}, {"reduction_factor", 3}}, space);
  const auto as_halving = run_all(*best_first, 9, [](int trial, std::int64_t) { return trial; });
  CHECK(as_halving ==
        std::map<int, std::int64_t>{{0, 9}, {1, 3}, {2, 3}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}});
}

TEST_CASE("asha that is replayed from its events continues as without the interruption") {
  const auto parameters = two_lists();
  const Space space{.parameters = parameters, .epochs = 8};
  const Value options = {{"trials", 12}, {"min_epochs", 1}, {"reduction_factor", 2}};
  const auto metric = [](int trial, std::int64_t epochs) { return (trial * 7 % 12) / static_cast<double>(epochs); };
  const auto whole = make("asha", options, space);
  const auto expected = run_all(*whole, 8, metric);
  for (const int stop : {1, 5, 10, 15}) {
    const auto first = make("asha", options, space);
    std::vector<NextTrial> begun;
    for (int i = 0; i < stop; ++i) {
      begun.push_back(*first->next(kAll));
      first->begun(begun.back());
      const std::int64_t until = begun.back().epochs == 0 ? 8 : begun.back().epochs;
      first->ended(begun.back().trial, until, metric(begun.back().trial, until));
    }
    const auto second = make("asha", options, space);
    std::map<int, std::int64_t> epochs;
    for (const NextTrial& next : begun) {
      const std::int64_t until = next.epochs == 0 ? 8 : next.epochs;
      second->begun(next);
      second->ended(next.trial, until, metric(next.trial, until));
      epochs[next.trial] = until;
    }
    for (const auto& [trial, until] : run_all(*second, 8, metric)) epochs[trial] = until;
    CHECK(epochs == expected);
  }
}

TEST_CASE("a trial that a rule ends before its rung counts in all rungs and is not continued") {
  const std::vector<config::Parameter> parameters;
  const Space space{.parameters = parameters, .epochs = 9};
  const auto asha = make("asha", {{"trials", 3}, {"min_epochs", 1}, {"reduction_factor", 3}}, space);
  const auto any = [](int) { return true; };
  for (int trial = 0; trial < 3; ++trial) {
    const auto next = asha->next(any);
    REQUIRE(next);
    asha->begun(*next);
    // The first trial ends in its first epoch, as the best.
    asha->ended(trial, trial == 0 ? kToItsEnd : 1, trial);
  }
  // It is the best third of its rung. No other trial continues in its place.
  CHECK_FALSE(asha->next(any));
}

TEST_CASE("asha refuses epochs and rungs that it cannot divide") {
  const auto parameters = two_lists();
  CHECK_THROWS_AS(make("asha", Value::object(), {.parameters = parameters, .epochs = 0}), Error);
  CHECK_THROWS_AS(make("asha", {{"min_epochs", 5}}, {.parameters = parameters, .epochs = 4}), Error);
  auto epochs = two_lists();
  epochs[0].key = "epochs";
  epochs[0].place.source = config::Source::assignment(1, "x");
  CHECK_THROWS_AS(make("asha", Value::object(), {.parameters = epochs, .epochs = 4}), Error);
}

}  // namespace ddp::search
