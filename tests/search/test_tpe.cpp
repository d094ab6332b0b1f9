#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

#include "catch.h"
#include "functions.h"
#include "search/search.h"

namespace ddp::search {
namespace {

using config::Value;

const Fits kEach = [](int) { return true; };

std::unique_ptr<Search> tpe(const std::vector<config::Parameter>& parameters, std::int64_t seed = 0, int trials = 60) {
  return methods().build("tpe", {{"trials", trials}, {"seed", seed}}, {.parameters = parameters});
}

std::vector<double> numbers_of(const config::Point& point) {
  std::vector<double> numbers;
  for (const auto& node : point) numbers.push_back(config::to_value(node).get<double>());
  return numbers;
}

Value named(const std::vector<config::Parameter>& parameters, const config::Point& point) {
  Value values = Value::object();
  for (std::size_t i = 0; i < parameters.size(); ++i) values[parameters[i].key] = config::to_value(point[i]);
  return values;
}

// Runs this many trials, one after the other; each reaches the value of the function. Returns their values.
std::vector<Value> search_for(Search& search, const Function& f, int trials) {
  std::vector<Value> all;
  for (int i = 0; i < trials; ++i) {
    const auto next = search.next(kEach);
    const config::Point point = search.point(next->trial);
    search.begun(*next);
    all.push_back(named(f.parameters, point));
    search.ended(next->trial, 1, f.value(numbers_of(point)));
  }
  return all;
}

double best_of(const Function& f, std::int64_t seed) {
  const auto search = tpe(f.parameters, seed);
  double best = std::numeric_limits<double>::infinity();
  while (const auto next = search->next(kEach)) {
    const double value = f.value(numbers_of(search->point(next->trial)));
    search->begun(*next);
    search->ended(next->trial, 1, value);
    best = std::min(best, value);
  }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Value kept_medians() {
  std::ifstream in(std::string(DDP_SOURCE) + "/tests/search/optuna/medians.json");
  return Value::parse(in);
}

}  // namespace

TEST_CASE("tpe finds values as low as Optuna's TPESampler with the same number of trials") {
  const Value kept = kept_medians();
  REQUIRE(kept.at("trials") == 60);
  const int seeds = kept.at("seeds");
  REQUIRE(seeds == 50);
  for (const Function& f : functions()) {
    std::vector<double> best;
    for (int seed = 0; seed < seeds; ++seed) best.push_back(best_of(f, seed));
    const Value& of_optuna = kept.at("functions").at(f.name);
    INFO(f.name << ": " << median(best) << ", Optuna " << of_optuna.dump());
    CHECK(median(best) <= of_optuna.at("default").get<double>());
    CHECK(median(best) <= of_optuna.at("independent").get<double>());
  }
}

TEST_CASE("tpe chooses the same values for the same seed and others for another seed") {
  for (const Function& f : functions()) {
    const auto one = search_for(*tpe(f.parameters, 3), f, 30);
    CHECK(one == search_for(*tpe(f.parameters, 3, /*trials=*/500), f, 30));
    CHECK(one != search_for(*tpe(f.parameters, 4), f, 30));
  }
}

TEST_CASE("the first ten trials of tpe are drawn like random's and are known from the beginning") {
  const Function f = functions().back();
  const auto search = tpe(f.parameters, 7);
  const auto random = methods().build("random", {{"trials", 10}, {"seed", 7}}, {.parameters = f.parameters});
  for (int trial = 0; trial < 10; ++trial) {
    CHECK(search->decided(trial));
    CHECK(named(f.parameters, search->point(trial)) == named(f.parameters, random->point(trial)));
  }
  CHECK_FALSE(search->decided(10));
  search_for(*search, f, 11);
  CHECK(search->decided(10));
  CHECK_FALSE(search->decided(11));
}

TEST_CASE("values chosen by tpe lie in the space") {
  auto parameters = functions().back().parameters;
  parameters.push_back(range("steps", 16, 120, /*log=*/false, /*integer=*/true));
  parameters.back().step = 16;
  parameters.push_back(range("rate", 0.1, 0.5));
  parameters.back().step = 0.1;
  const auto search = tpe(parameters, 1, 200);
  std::set<double> rates;
  while (const auto next = search->next(kEach)) {
    const Value values = named(parameters, search->point(next->trial));
    INFO(values.dump());
    search->begun(*next);
    for (const auto& parameter : parameters) CHECK(parameter.number_of(values.at(parameter.key)));
    CHECK(values.at("units").is_number_integer());
    CHECK(values.at("steps").get<std::int64_t>() % 16 == 0);
    CHECK(values.at("steps") <= 112);
    rates.insert(values.at("rate").get<double>());
    search->ended(next->trial, 1, values.at("lr").get<double>() + values.at("steps").get<double>());
  }
  CHECK(rates == std::set<double>{0.1, 0.2, 0.3, 0.4, 0.5});
}

TEST_CASE("tpe that is replayed from a journal continues as without the interruption, with the values of the journal") {
  const Function f = functions().back();
  const auto whole = tpe(f.parameters, 5);
  const auto expected = search_for(*whole, f, 40);
  const auto again = tpe(f.parameters, 5);
  for (int trial = 0; trial < 25; ++trial) {
    again->recall(trial, expected[trial]);
    CHECK(named(f.parameters, again->point(trial)) == expected[trial]);
    again->begun({.trial = trial});
    again->ended(trial, 1, f.value(numbers_of(again->point(trial))));
  }
  const auto rest = search_for(*again, f, 15);
  CHECK(std::equal(rest.begin(), rest.end(), expected.begin() + 25));
  // Another machine may choose these, because its exp differs in the last bit.
  Value other = expected[25];
  other["lr"] = 0.0123456;
  const auto moved = tpe(f.parameters, 5);
  moved->recall(0, other);
  CHECK(named(f.parameters, moved->point(0)) == other);
  other["lr"] = 2;
  moved->recall(1, other);
  CHECK(named(f.parameters, moved->point(1)) == named(f.parameters, draw({.parameters = f.parameters}, 5, 1)));
}

TEST_CASE("concurrent trials of tpe begin apart, and trials that still train or failed count on neither side") {
  const Function f = functions().front();
  const auto search = tpe(f.parameters, 2);
  search_for(*search, f, 20);
  // Three begin, and none of them has ended: each has its own draws.
  std::set<std::string> points;
  for (int i = 0; i < 3; ++i) {
    const auto next = search->next(kEach);
    REQUIRE(next);
    points.insert(named(f.parameters, search->point(next->trial)).dump());
    search->begun(*next);
  }
  CHECK(points.size() == 3);
  const auto alone = tpe(f.parameters, 2);
  search_for(*alone, f, 20);
  for (const int trial : {20, 21, 22}) {
    CHECK(named(f.parameters, alone->point(trial)) == named(f.parameters, search->point(trial)));
  }
  CHECK(named(f.parameters, alone->point(23)) == named(f.parameters, search->point(23)));
}

TEST_CASE("a trial of tpe whose metric is NaN is worse than every other") {
  const std::vector<config::Parameter> parameters{range("x", 0, 1)};
  const auto search = tpe(parameters, 0, 200);
  int low = 0;
  for (int i = 0; i < 200; ++i) {
    const auto next = search->next(kEach);
    const double x = numbers_of(search->point(next->trial)).front();
    search->begun(*next);
    // The best region has no number.
    search->ended(next->trial, 1, x < 0.5 ? std::numeric_limits<double>::quiet_NaN() : 1 - x);
    if (i >= 100) low += x < 0.5;
  }
  CHECK(low < 15);
}

TEST_CASE("tpe refuses to vary settings that decide how many devices and threads a trial takes") {
  for (const std::string key : {"device_pool", "devices_per_rank", "threads"}) {
    const std::vector<config::Parameter> parameters{range(key, 1, 4, /*log=*/false, /*integer=*/true)};
    CHECK_THROWS_AS(tpe(parameters), Error);
  }
}

}  // namespace ddp::search
