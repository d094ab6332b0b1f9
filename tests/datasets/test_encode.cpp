#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include "catch.h"
#include "datasets/table/encoder.h"

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

}  // namespace ddp::datasets
