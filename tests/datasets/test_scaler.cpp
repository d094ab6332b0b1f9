#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "datasets/table/scaler.h"
#include "datasets/table/value_names.h"

namespace ddp::datasets {
namespace {

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

// A column, and scikit-learn 1.9.1's scales for it beside other columns in a C-ordered array: mean_ and scale_ of
// StandardScaler, min_ and scale_ of MinMaxScaler.
struct ScaledColumn {
  const char* name;
  std::vector<double> values;  // kHole: a missing cell
  double mean, deviation, shift, factor;
};

const ScaledColumn kScaledColumns[] = {
    {"plain",
     {0.1, 0.7, -3.3, 12.25, 1e-3},
     0x1.f3404ea4a8c15p+0,
     0x1.5597031c35b85p+2,
     0x1.b29fb0fa3ce9bp-3,
     0x1.07688a4a1566ep-4},
    {"far from zero",
     {1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.7, 1e9 - 0.4, 1e9},
     0x1.dcd65000f5c2ap+29,
     0x1.6ae812b362742p-2,
     -0x1.b17d02482fa22p+29,
     0x1.d1745c6e043b8p-1},
    {"constant", {0.1, 0.1, 0.1, 0.1, 0.1}, 0x1.999999999999ap-4, 1.0, -0x1.999999999999ap-4, 1.0},
    {"constant but for rounding", {1e9, 1e9 + 1e-7, 1e9, 1e9, 1e9 + 1e-7}, 0x1.dcd65p+29, 1.0, -0x1.dcd65p+52, 0x1p+23},
    {"tiny", {1e-300, 2e-300, 3e-300, 1e-300, 5e-300}, 0x1.9b759505df0d2p-996, 1.0, -0x1.56e1fc2f8f359p-997, 1.0},
    {"huge",
     {1e150, -1e150, 2e150, 3e149, 0},
     0x1.1fcca86c50582p+497,
     0x1.39d32e85729a6p+498,
     0x1.5555555555555p-2,
     0x1.17544f17fb84ep-500},
    {"zero", {0, 0, 0, 0, 0}, 0, 1, 0, 1},
    {"holes",
     {kHole, 1.5, 2.25, kHole, -7.125},
     -0x1.2p+0,
     0x1.103c359247a22p+2,
     0x1.851eb851eb852p-1,
     0x1.b4e81b4e81b4fp-4},
};

ColumnFit fit_of(const std::vector<double>& values) {
  ColumnFit fit;
  for (const double value : values) {
    if (!std::isnan(value)) fit.add(value);
  }
  fit.end_first_pass();
  for (const double value : values) {
    if (!std::isnan(value)) fit.add_deviation(value);
  }
  return fit;
}

}  // namespace

TEST_CASE("scales have the bits of scikit-learn's StandardScaler and MinMaxScaler") {
  for (const ScaledColumn& column : kScaledColumns) {
    INFO(column.name);
    const ColumnFit fit = fit_of(column.values);
    CHECK(fit.mean() == column.mean);
    const Scale standard = fit.scale(Scale::Kind::standard);
    CHECK(standard.shift == column.mean);
    CHECK(standard.factor == column.deviation);
    const Scale minmax = fit.scale(Scale::Kind::minmax);
    CHECK(minmax.shift == column.shift);
    CHECK(minmax.factor == column.factor);
    CHECK(scale_from_json(to_json(standard)).factor == standard.factor);
  }
}

TEST_CASE("a column without a value stays unchanged") {
  for (const auto kind : {Scale::Kind::none, Scale::Kind::standard, Scale::Kind::minmax}) {
    CHECK(fit_of({kHole, kHole}).scale(kind).apply(3.5) == 3.5);
  }
}

TEST_CASE("a standard scale can be undone") {
  const Scale scale = fit_of(kScaledColumns[0].values).scale(Scale::Kind::standard);
  CHECK(scale.undo(scale.apply(0.7)) == Approx(0.7));
}

TEST_CASE("values of a column are sorted as numbers if all of them are numbers, and 1 and 1.0 are one value") {
  ValueNames seen;
  for (const char* value : {"10", "9", "1", "1.0", "+1e0", "-0", "0", "9.50", "9.5"}) seen.add(value);
  const ValueNames values = seen.sorted();
  CHECK(values.names() == std::vector<std::string>{"0", "1", "9", "9.5", "10"});
  CHECK(values.find("1.000") == 1);
  CHECK(values.find("9.5e0") == 3);
  CHECK(values.find("-0.0") == 0);
  for (const char* other : {"2", "one", "", "1 ", "nan", "inf", "0x1"}) CHECK(values.find(other) == -1);
}

TEST_CASE("values that include a text are all text and sorted by their bytes") {
  ValueNames seen;
  for (const char* value : {"b", "10", "9", "1", "1.0", "Z", "ä"}) seen.add(value);
  const ValueNames values = seen.sorted();
  CHECK(values.names() == std::vector<std::string>{"1", "1.0", "10", "9", "Z", "b", "ä"});
  CHECK(values.find("1.00") == -1);
  CHECK(values.find("ä") == 6);
}

TEST_CASE("values that were kept are found again") {
  const ValueNames values(std::vector<std::string>{"2", "1.50", "30"});
  CHECK(values.names() == std::vector<std::string>{"2", "1.5", "30"});
  CHECK(values.find("1.5") == 1);
  CHECK(ValueNames().find("1") == -1);
}

}  // namespace ddp::datasets
