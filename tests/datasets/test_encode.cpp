#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "catch.h"
#include "datasets/table/encoder.h"
#include "errors.h"
#include "words.h"

namespace ddp::datasets {
namespace {

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
  encoder.features[1].is_category = true;
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
    for (const auto& feature : choose_columns(options, all, "mse", {}, "t.csv").features) names.push_back(feature.name);
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

TEST_CASE("a category that counts as missing by the default is named, and so is a class") {
  const std::string names = "NADENA";
  const std::vector<std::int32_t> offsets = {0, 2, 4, 6};
  const std::uint8_t only_second = 2;
  Table table{.files = {{.path = "table.csv"}}, .rows = 3, .how = format::TableOptions{}};
  const format::ColumnCells cells{.offsets = offsets.data(), .text = names.data(), .valid = &only_second};
  table.pieces.push_back({.chunk = {.rows = 3, .columns = {cells, cells}}});
  Encoder encoder;
  encoder.features.push_back({"country", /*is_category=*/true, ValueNames({"DE"}, Equal::bytes), 0, {}});
  const auto warnings = [&] { return in_words(encode(encoder, table, /*with_targets=*/false).unknown_names); };
  REQUIRE(warnings().size() == 1);
  CHECK(contains(warnings().front(), "column \"country\": 2 cells hold \"NA\", which counts as missing"));
  encoder.kind = TargetKind::classes;
  encoder.targets = {"y"};
  encoder.classes = ValueNames({"DE"});
  CHECK(contains(error_of([&] { encode(encoder, table, /*with_targets=*/true); }),
                 "column \"y\": is \"NA\", which counts as missing, but it is the target"));
  table.how->missing_values = {"", "NA"};
  CHECK(warnings().empty());
}

TEST_CASE("categories without a value in the training rows are refused if no other feature is left") {
  const std::vector<std::int32_t> offsets = {0, 0};
  const std::uint8_t none = 0;
  Table table{.files = {{.path = "table.jsonl"}}, .rows = 1};
  table.pieces.push_back({.chunk = {.rows = 1, .columns = {{.offsets = offsets.data(), .text = "", .valid = &none}}}});
  Encoder encoder;
  encoder.features.push_back({"colour", /*is_category=*/true, {}, 0, {}});
  CHECK(contains(error_of([&] { fit(encoder, table, at::zeros({1}, at::kLong), TableSection()); }),
                 "dataset.categories: have no value in the training rows"));
}

TEST_CASE("a preprocessing.json of version 1 compares numbers by value, and stays one of version 1") {
  Encoder encoder;
  encoder.features.push_back({"code", /*is_category=*/true, ValueNames({"007", "7"}, Equal::bytes), 0, {}});
  CHECK(encoder_from_json(to_json(encoder)).features[0].values.find("7") == 1);
  config::Value old = to_json(encoder);
  old.erase("version");
  old.at("features").at(0).at("categories") = {"7", "1e+05"};
  const Encoder kept = encoder_from_json(old);
  CHECK(kept.features[0].values.find("007") == 0);
  CHECK(kept.features[0].values.find("100000") == 1);
  CHECK(to_json(kept) == old);
}

}  // namespace ddp::datasets
