#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "train/rules.h"

namespace ddp::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

Patience patience_of(std::int64_t validations, double min_delta, config::Direction direction) {
  config::Stop stop;
  stop.patience = validations;
  stop.min_delta = min_delta;
  return {stop, {.name = "val_loss", .direction = direction}};
}

// The validation at which patience is exhausted, from 1; 0: none.
int ends_at(Patience patience, const std::vector<double>& values) {
  int number = 0;
  for (const double value : values) {
    ++number;
    patience.judge(value);
    if (patience.is_over()) return number;
  }
  return 0;
}

Plateau plateau_of(const std::string& metric, double lr, std::int64_t patience = 0) {
  schedule::PlateauOptions options;
  options.patience = patience;
  return Plateau({.options = options, .metric = {.name = metric}, .lr = lr});
}

}  // namespace

TEST_CASE("a plateau lowers lr like ReduceLROnPlateau, and resumes with the same bits from any validation") {
  std::ifstream file(DDP_SOURCE "/tests/schedule/values/plateau.json");
  const auto cases = config::Value::parse(file);
  REQUIRE(cases.size() == 36);
  for (const auto& [title, kept] : cases.items()) {
    INFO(title);
    const bool greater = kept.at("mode") == "max";
    const PlateauParts parts{
        .options = config::read<schedule::PlateauOptions>(kept.at("options")),
        .metric = {.name = "val_x", .direction = greater ? config::Direction::greater : config::Direction::less},
        .lr = kept.at("lr")};
    const auto values = numbers_in(kept.at("values"));
    const auto rates = numbers_in(kept.at("rates"));
    REQUIRE(values.size() == rates.size());
    Plateau plateau(parts);
    for (std::size_t i = 0; i < values.size(); ++i) {
      Plateau resumed(parts);
      resumed.restore(config::Value::parse(plateau.state().dump()));
      resumed.judge(values[i]);
      plateau.judge(values[i]);
      CHECK(plateau.lr(0) == rates[i]);
      CHECK(resumed.lr(0) == rates[i]);
    }
  }
}

TEST_CASE("a warm-up multiplies the lr of a plateau") {
  const Plateau plateau({.options = {}, .metric = {.name = "val_loss"}, .lr = 0.8, .warmup_steps = 4});
  CHECK(plateau.lr(0) == 0.2);
  CHECK(plateau.lr(1) == 0.4);
  CHECK(plateau.lr(3) == 0.8);
  CHECK(plateau.lr(4) == 0.8);
}

TEST_CASE("a resumed plateau applies its factor to a new lr, and starts a new best for a new metric") {
  Plateau before = plateau_of("val_loss", 0.8);
  for (const double loss : {1.0, 2.0}) before.judge(loss);
  REQUIRE(before.lr(0) == 0.8 * 0.1);
  const config::Value saved = config::Value::parse(before.state().dump());
  Plateau other_lr = plateau_of("val_loss", 1.6);
  other_lr.restore(saved);
  CHECK(std::abs(other_lr.lr(0) - 0.16) < 1e-15);
  Plateau other_metric = plateau_of("val_x", 0.8);
  other_metric.restore(saved);
  other_metric.judge(5);
  CHECK(other_metric.lr(0) == 0.8 * 0.1);
  CHECK_THROWS(other_metric.restore({{"metric", "val_x"}, {"base_lr", 0.1}, {"lr", 0.2}}));
  CHECK_THROWS(other_metric.restore({{"metric", "val_x"}, {"base_lr", "x"}, {"lr", 0.2}}));
}

TEST_CASE(
    "patience is exhausted after a number of validations in a row without an improvement of more than min_delta") {
  using config::Direction;
  CHECK(ends_at(patience_of(2, 0, Direction::less), {3, 2, 2, 2}) == 4);
  CHECK(ends_at(patience_of(2, 0, Direction::less), {3, 2, 2, 1, 1, 0.5, 1}) == 0);
  CHECK(ends_at(patience_of(2, 0.5, Direction::less), {3, 2.5, 2.5, 2}) == 3);
  CHECK(ends_at(patience_of(2, 0.5, Direction::less), {3, 2.4, 2, 1.9, 1.8}) == 4);
  CHECK(ends_at(patience_of(1, 0, Direction::greater), {0.5, 0.6, 0.6}) == 3);
  CHECK(ends_at(patience_of(1, 0.25, Direction::greater), {0.5, 1, 1.25}) == 3);
  CHECK(ends_at(patience_of(2, 0, Direction::less), {kNaN, 5, kNaN, 4, kNaN, kNaN}) == 6);
}

TEST_CASE("patience keeps counting after a resume, and starts again if its metric or min_delta changed") {
  Patience before = patience_of(3, 0, config::Direction::less);
  for (const double loss : {1.0, 2.0, 2.0}) before.judge(loss);
  const config::Value saved = config::Value::parse(before.state().dump());
  CHECK(saved.at("waited") == 2);
  Patience same = patience_of(3, 0, config::Direction::less);
  same.restore(saved);
  CHECK(ends_at(same, {1.5}) == 1);
  Patience other_delta = patience_of(3, 0.1, config::Direction::less);
  other_delta.restore(saved);
  CHECK(ends_at(other_delta, {1.5, 1.5, 1.5, 1.5}) == 4);
}

namespace {

constexpr float kInfiniteGradient = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("the scale halves after a gradient that is not finite, and doubles after 2000 steps in a row") {
  Scaler scaler;
  CHECK(scaler.scale() == 65536);
  CHECK(scaler.scaled(at::full({}, 0.5)).item<double>() == 32768);
  CHECK_FALSE(scaler.unscale({at::full({2}, 1.0), at::full({2}, kInfiniteGradient)}));
  CHECK(scaler.scale() == 32768);
  const at::Tensor gradient = at::full({2}, 1.0);
  for (int step = 1; step < 2000; ++step) CHECK(scaler.unscale({gradient.clone()}));
  CHECK(scaler.scale() == 32768);
  CHECK(scaler.unscale({gradient}));
  CHECK(gradient[0].item<double>() == 1.0 / 32768);
  CHECK(scaler.scale() == 65536);
}

TEST_CASE("a saved scale resumes, and a damaged one is refused") {
  Scaler scaler;
  scaler.unscale({at::full({2}, kInfiniteGradient)});
  scaler.unscale({at::full({2}, 1.0)});
  Scaler restored;
  restored.restore(config::Value::parse(scaler.state().dump()));
  CHECK(restored.state() == scaler.state());
  CHECK(restored.scale() == 32768);
  CHECK_THROWS(restored.restore({{"scale", -1}, {"growth_tracker", 0}}));
  CHECK_THROWS(restored.restore({{"scale", 1}}));
}

}  // namespace ddp::train
