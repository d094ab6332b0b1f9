#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "catch.h"
#include "datasets/table/encoder.h"
#include "datasets/table/scaler.h"
#include "datasets/table/value_names.h"
#include "errors.h"
#include "words.h"

namespace ddp::datasets {
namespace {

using Names = std::vector<std::string>;

ValueNames distinct(const Names& cells) {
  ValueNames values;
  for (const std::string& cell : cells) values.add(cell);
  return values.sorted();
}

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

// The columns of one piece of a table: a number, a category and a class.
struct PieceCells {
  std::vector<double> numbers = {};
  std::string colours = {};
  std::vector<std::int32_t> colour_offsets = {0};
  std::string classes = {};
  std::vector<std::int32_t> class_offsets = {0};
};

const std::vector<std::string> kColours = {"blue", "green", "red"};
const std::vector<std::string> kClasses = {"circle", "square"};

std::int64_t colour_of(std::int64_t row) { return row * 7 % 3; }
std::int64_t class_of(std::int64_t row) { return row / 5 % 2; }

Table::Piece piece_of(std::int64_t first_row, std::int64_t rows) {
  auto cells = std::make_shared<PieceCells>();
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    cells->numbers.push_back(static_cast<double>(row));
    cells->colours += kColours.at(static_cast<std::size_t>(colour_of(row)));
    cells->colour_offsets.push_back(static_cast<std::int32_t>(cells->colours.size()));
    cells->classes += kClasses.at(static_cast<std::size_t>(class_of(row)));
    cells->class_offsets.push_back(static_cast<std::int32_t>(cells->classes.size()));
  }
  format::TableChunk chunk{.rows = rows};
  chunk.columns = {{.numbers = cells->numbers.data()},
                   {.offsets = cells->colour_offsets.data(), .text = cells->colours.data()},
                   {.offsets = cells->class_offsets.data(), .text = cells->classes.data()}};
  chunk.memory = cells;
  return {.chunk = std::move(chunk), .first_row = first_row};
}

}  // namespace

TEST_CASE("whole numbers are distinguished by all of their digits and sorted by them") {
  // As doubles some of these are equal.
  const ValueNames values = distinct({"9007199254740993", "-9007199254740993", "9007199254740992", "-9007199254740992",
                                      "18446744073709551615", "18446744073709551614", "123456789012345678901234567890",
                                      "123456789012345678901234567891", "12"});
  CHECK(values.names() == Names{"-9007199254740993", "-9007199254740992", "12", "9007199254740992", "9007199254740993",
                                "18446744073709551614", "18446744073709551615", "123456789012345678901234567890",
                                "123456789012345678901234567891"});
  for (std::int64_t i = 0; i < values.size(); ++i) CHECK(values.find(values.names()[static_cast<std::size_t>(i)]) == i);
  CHECK(values.find("9007199254740994") == -1);
  CHECK(values.find("+9007199254740993.00") == 4);
}

TEST_CASE("a number written in several ways is one value of any size, and keeps the digits of whole numbers") {
  CHECK(distinct({"1", "1.0", "+1", "1e0"}).names() == Names{"1"});
  CHECK(distinct({"0", "-0", "-0.0", "0e5"}).names() == Names{"0"});
  CHECK(distinct({"1000000", "100000", "1e5"}).names() == Names{"100000", "1000000"});
  CHECK(distinct({"10000000000000000", "1e16", "10000000000000000.0"}).names() == Names{"10000000000000000"});
  CHECK(distinct({"1000000000000000000000000", "1e24"}).size() == 2);  // the double nearest to 1e24 is another number
  CHECK(distinct({"0.5", ".5", "5e-1", "0.50"}).names() == Names{"0.5"});
  const ValueNames large = distinct({"9007199254740993", "1e300"});
  CHECK(ValueNames(large.names()).names() == large.names());
}

TEST_CASE("values of which one has a leading zero are text, and categories always are") {
  const ValueNames classes = distinct({"7", "007", "07", "10", "10.0"});
  CHECK(classes.names() == Names{"007", "07", "10", "10.0", "7"});
  CHECK(ValueNames(classes.names()).find("07") == 1);
  CHECK(classes.find("7.0") == -1);
  CHECK(distinct({"7", "8"}).find("07") == -1);
  ValueNames values;
  for (const char* cell : {"10", "9", "1.0", "1", "100000"}) values.add(cell);
  CHECK(values.sorted(Equal::bytes).names() == Names{"1", "1.0", "9", "10", "100000"});
  CHECK(values.sorted(Equal::bytes).find("9.0") == -1);
}

TEST_CASE("values that versions 1 and 2 have kept are found by their number, under the names that it gave them") {
  CHECK(ValueNames({"1", "2"}, Equal::numbers_of_version_2).find("+-1") == -1);
  CHECK(ValueNames({"-1", "2"}, Equal::numbers_of_version_2).find("+-1") == 0);
  CHECK(ValueNames({"1", "2"}, Equal::numbers_of_version_2).find(" 1") == -1);
  const ValueNames kept({"7", "1e+05"}, Equal::numbers_of_version_1);
  CHECK(kept.names() == Names{"7", "1e+05"});
  for (const auto& [cell, number] : {std::pair("007", 0), {"7.0", 0}, {"100000", 1}, {"1e5", 1}, {"8", -1}}) {
    CHECK(kept.find(cell) == number);
  }
}

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
    CHECK(config::read_written<Scale>(config::written(standard)).factor == standard.factor);
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
  CHECK(values.find(" 1\t") == 1);
  for (const char* other : {"2", "one", "", "+-1", "nan", "inf", "0x1", "1e400", "1e-400"}) {
    CHECK(values.find(other) == -1);
  }
  CHECK(distinct({"2", "inf", " 10", "-inf", "10", "Infinity"}).names() == Names{"-inf", "2", "10", "inf"});
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

TEST_CASE("each row of a table is encoded at its own place for pieces of any size") {
  Table table{.files = {{.path = "table.csv"}}};
  for (const std::int64_t rows : {1, 511, 512, 513, 2000}) {
    table.pieces.push_back(piece_of(table.rows, rows));
    table.rows += rows;
  }
  Encoder encoder;
  encoder.features.resize(2);
  encoder.features[0].name = "number";
  encoder.features[1].name = "colour";
  encoder.features[1].kind = Encoder::Feature::Kind::category;
  encoder.features[1].values = ValueNames(kColours);
  encoder.kind = TargetKind::classes;
  encoder.targets = {"shape"};
  encoder.classes = ValueNames(kClasses);

  const Encoded encoded = encode(encoder, table, /*with_targets=*/true);

  std::vector<float> inputs;
  std::vector<std::int64_t> targets;
  for (std::int64_t row = 0; row < table.rows; ++row) {
    inputs.push_back(static_cast<float>(row));
    for (std::int64_t colour = 0; colour < 3; ++colour) inputs.push_back(colour == colour_of(row) ? 1.0F : 0.0F);
    targets.push_back(class_of(row));
  }
  CHECK(at::equal(encoded.inputs, at::tensor(inputs).view({table.rows, 4})));
  CHECK(at::equal(encoded.targets, at::tensor(targets)));
}

TEST_CASE("a column of pandas' index is refused until features, drop or target names it") {
  using Names = std::vector<std::string>;
  const auto features_of = [](const Names& columns, const Names& drop = {}, const Names& features = {},
                              const std::string& target = "y") {
    TableSection options;
    options.target = target;
    options.drop = drop;
    options.features = features;
    std::vector<format::ColumnInfo> all;
    for (const std::string& name : columns) all.push_back({.name = name});
    Names names;
    for (const auto& feature : choose_columns(options, all, "mse", "t.csv").features) names.push_back(feature.name);
    return names;
  };
  const auto error = [&](const Names& columns, const Names& drop = {}) {
    return error_of([&] { features_of(columns, drop); });
  };
  CHECK(contains(error({"", "x", "y"}), "t.csv: the first column has no name"));
  CHECK(contains(error({"", "x", "y"}), "dataset.drop = [\"\"]"));
  CHECK(contains(error({"", "x", "z", "y"}, {"z"}), "dataset.drop = [\"z\", \"\"]"));
  CHECK(contains(error({"Unnamed: 0", "x", "y"}), "\"Unnamed: 0\" is the index that pandas wrote"));
  CHECK(contains(error({"x", "y", "__index_level_0__"}), "dataset.drop = [\"__index_level_0__\"]"));
  CHECK(features_of({"", "x", "y"}, {""}) == Names{"x"});
  CHECK(features_of({"", "x", "y"}, {}, {"", "x"}) == Names{"", "x"});
  CHECK(features_of({"", "x"}, {}, {}, "") == Names{"x"});
  CHECK(features_of({"x", "", "y"}) == Names{"x", ""});
}

TEST_CASE("the id of a row is the first column of such a name that the model does not see") {
  const std::vector<format::ColumnInfo> columns = {{.name = "weight"}, {.name = "ID"}, {.name = "x"}, {.name = "row"}};
  const auto with_features = [&](const Names& features) {
    Encoder encoder;
    for (const std::string& name : features) encoder.features.push_back({.name = name});
    encoder.weights = "weight";
    return encoder;
  };
  CHECK(id_column(with_features({"x"}), columns) == "ID");
  CHECK(id_column(with_features({"x", "ID"}), columns) == "row");
  Encoder encoder = with_features({"x", "ID"});
  encoder.targets = {"row"};
  CHECK(id_column(encoder, columns).empty());
  CHECK(id_column(encoder, {{.name = "Unnamed: 0"}, {.name = "x"}}) == "Unnamed: 0");
}

TEST_CASE("a category that counts as missing by the default is named, and so is a class") {
  const std::string names = "NADENA";
  const std::vector<std::int32_t> offsets = {0, 2, 4, 6};
  const std::uint8_t only_second = 2;
  Table table{.files = {{.path = "table.csv"}}, .rows = 3, .how = format::TableOptions{}};
  const format::ColumnCells cells{.offsets = offsets.data(), .text = names.data(), .valid = &only_second};
  table.pieces.push_back({.chunk = {.rows = 3, .columns = {cells, cells}}});
  Encoder encoder;
  encoder.features.push_back(
      {.name = "country", .kind = Encoder::Feature::Kind::category, .values = ValueNames({"DE"}, Equal::bytes)});
  const auto warnings = [&] { return in_words(encode(encoder, table, /*with_targets=*/false).unknown_names); };
  REQUIRE(warnings().size() == 1);
  CHECK(contains(warnings().front(), "column \"country\": 2 cells hold \"NA\", which counts as missing"));
  encoder.kind = TargetKind::classes;
  encoder.targets = {"y"};
  encoder.classes = ValueNames({"DE"});
  CHECK(contains(error_of([&] { encode(encoder, table, /*with_targets=*/true); }), "column \"y\": is \"NA\""));
  table.how->missing_values = {"", "NA"};
  CHECK(warnings().empty());
}

TEST_CASE("categories without a value in the training rows are refused if no other feature is left") {
  const std::vector<std::int32_t> offsets = {0, 0};
  const std::uint8_t none = 0;
  Table table{.files = {{.path = "table.jsonl"}}, .rows = 1};
  table.pieces.push_back({.chunk = {.rows = 1, .columns = {{.offsets = offsets.data(), .text = "", .valid = &none}}}});
  Encoder encoder;
  encoder.features.push_back({.name = "colour", .kind = Encoder::Feature::Kind::category});
  CHECK(contains(error_of([&] { fit(encoder, table, at::zeros({1}, at::kLong), TableSection()); }),
                 "dataset.categories: have no value in the training rows"));
}

TEST_CASE("a preprocessing.json of version 1 compares numbers by value, and stays one of version 1") {
  Encoder encoder;
  encoder.features.push_back(
      {.name = "code", .kind = Encoder::Feature::Kind::category, .values = ValueNames({"007", "7"}, Equal::bytes)});
  CHECK(encoder_from_json(config::written(encoder)).features[0].values.find("7") == 1);
  config::Value old = config::written(encoder);
  old.erase("version");
  old.at("features").at(0).at("categories") = {"7", "1e+05"};
  const Encoder kept = encoder_from_json(old);
  CHECK(kept.features[0].values.find("007") == 0);
  CHECK(kept.features[0].values.find("100000") == 1);
  CHECK(config::written(kept) == old);
}

}  // namespace ddp::datasets
