#include <algorithm>
#include <random>
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/randint.h>
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>

#include "catch.h"
#include "datasets/dataset.h"
#include "tables/files.h"

namespace ddp {
namespace {

using datasets::MapDataset;

// Numbers with gaps, names, dates and a target of two classes.
std::shared_ptr<arrow::Table> people(int rows, unsigned seed) {
  std::mt19937 draw(seed);
  arrow::DoubleBuilder heights;
  arrow::StringBuilder cities, days, kinds;
  for (int i = 0; i < rows; ++i) {
    const bool is_missing = draw() % 11 == 0;
    const double height = 160 + static_cast<double>(draw() % 4000) / 100;
    REQUIRE((is_missing ? heights.AppendNull() : heights.Append(height)).ok());
    REQUIRE(cities.Append("city " + std::to_string(draw() % 9)).ok());
    REQUIRE(days.Append("20" + std::to_string(10 + draw() % 15) + "-0" + std::to_string(1 + draw() % 9) + "-11").ok());
    REQUIRE(kinds.Append(draw() % 3 == 0 ? "yes" : "no").ok());
  }
  arrow::ArrayVector columns{*heights.Finish(), *cities.Finish(), *days.Finish(), *kinds.Finish()};
  const auto text = arrow::utf8();
  return arrow::Table::Make(arrow::schema({arrow::field("height", arrow::float64()), arrow::field("city", text),
                                           arrow::field("day", text), arrow::field("kind", text)}),
                            columns);
}

// The dataset of these files, in memory or as a stream.
struct Opened {
  std::unique_ptr<datasets::Dataset> dataset;
  MapDataset& map() const { return dynamic_cast<MapDataset&>(*dataset); }
};

Opened open(const config::Value& options, std::int64_t window, const char* dataset = "parquet") {
  return {datasets::registry().build(dataset, options, datasets::Context{.loss = "cross_entropy", .window = window})};
}

bool are_equal(const NamedTensors& first, const NamedTensors& second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].first != second[i].first || !first[i].second.equal(second[i].second)) return false;
  }
  return first.size() == second.size();
}

}  // namespace

TEST_CASE("a table that is streamed has the samples, the preprocessing and the classes of the table in memory") {
  const TableFolder folder;
  const auto first = folder.write_parquet("a.parquet", *people(500, 1), /*group=*/64);
  const auto second = folder.write_parquet("b.parquet", *people(331, 2), /*group=*/100);
  const auto third = folder.write_feather("c.feather", *people(40, 3));
  const config::Value base = {{"path", {first.string(), second.string(), third.string()}},
                              {"target", "kind"},
                              {"categories", {"city"}},
                              {"dates", {"day"}}};
  for (const config::Value& more :
       {config::Value{{"missing", "mean"}, {"normalise", "standard"}, {"missing_indicator", true}},
        config::Value{{"missing", "drop"}, {"normalise", "minmax"}},
        config::Value{{"missing", "zero"}, {"normalise", "quantile"}, {"encode", "index"}}}) {
    config::Value options = base;
    options.update(more);
    const Opened whole = open(options, 0), stream = open(options, 4);
    CHECK(whole.map().block_begins().empty());
    const std::vector<std::int64_t> begins{0, 64, 128, 192, 256, 320, 384, 448, 500, 600, 700, 800, 831, 871};
    CHECK(stream.map().block_begins() == begins);
    REQUIRE(stream.map().size() == whole.map().size());
    CHECK(stream.map().classes().equal(whole.map().classes()));
    CHECK(stream.map().numbers("day").equal(whole.map().numbers("day")));
    CHECK(stream.map().groups("city").equal(whole.map().groups("city")));
    for (const std::int64_t row : {0, 63, 64, 499, 500, 870}) {
      CHECK(stream.map().content(row).input == whole.map().content(row).input);
      CHECK(stream.map().content(row).target == whole.map().content(row).target);
    }
    // Fitted on some of the rows, as with a validation.
    const at::Tensor rows = at::arange(7, 700, 2, at::kLong);
    stream.map().fit(rows);
    whole.map().fit(rows);
    CHECK(stream.map().preprocessing() == whole.map().preprocessing());
    CHECK(stream.map().usable(rows).equal(whole.map().usable(rows)));
    CHECK(stream.map().facts() == whole.map().facts());
    for (int i = 0; i < 20; ++i) {
      const at::Tensor some = at::randint(871, {33}, at::kLong);
      const datasets::Batch of_stream = stream.map().gather(some, 0), of_whole = whole.map().gather(some, 0);
      CHECK(are_equal(of_stream.inputs, of_whole.inputs));
      CHECK(are_equal(of_stream.targets, of_whole.targets));
    }
  }
}

TEST_CASE("a text that is streamed is cut between rows, and has the samples of the text in memory") {
  const TableFolder folder;
  std::mt19937 draw(5);
  std::string csv = "height,note,kind\r\n", jsonl = "\xef\xbb\xbf";
  for (int i = 0; i < 60'000; ++i) {
    const std::string height = std::to_string(draw() % 100'000), city = std::to_string(draw() % 7);
    const char* kind = draw() % 3 == 0 ? "yes" : "no";
    csv += height + ",\"the \"\"city\"\"\n" + city + ", with a line that is long enough for some blocks\"," + kind +
           "\r\n";
    if (i % 1000 == 0) csv += "\r\n", jsonl += "\n";
    jsonl += "{\"height\": " + (i % 100 == 7 ? "NaN" : height) + ", \"note\": \"the city\\n" + city +
             ", with a line that is long enough for some blocks\", \"kind\": \"" + kind + "\"}\n";
  }
  struct Text {
    const char* dataset;
    std::filesystem::path file;
    bool is_cut;
  };
  for (const Text& text :
       {Text{"csv", folder.write("t.csv", csv), true}, Text{"csv", folder.write_gzip("t.csv.gz", csv), false},
        Text{"jsonl", folder.write("t.jsonl", jsonl), true},
        Text{"jsonl", folder.write_gzip("t.jsonl.gz", jsonl), false}}) {
    const config::Value options = {{"path", text.file.string()},
                                   {"target", "kind"},
                                   {"categories", {"note"}},
                                   {"normalise", "standard"},
                                   {"missing", "mean"}};
    // The second stream finds the blocks in the cache folder.
    for (int time = 0; time < 2; ++time) {
      const Opened whole = open(options, 0, text.dataset), stream = open(options, 2, text.dataset);
      const std::vector<std::int64_t> begins = stream.map().block_begins();
      CHECK((begins.size() > 2) == text.is_cut);
      CHECK(begins.back() == 60'000);
      const at::Tensor all = at::arange(60'000, at::kLong);
      stream.map().fit(all);
      whole.map().fit(all);
      CHECK(stream.map().preprocessing() == whole.map().preprocessing());
      for (const std::int64_t begin : begins) {
        const at::Tensor some =
            at::arange(std::max<std::int64_t>(0, begin - 20), std::min<std::int64_t>(60'000, begin + 20), at::kLong);
        const datasets::Batch of_stream = stream.map().gather(some, 0), of_whole = whole.map().gather(some, 0);
        CHECK(are_equal(of_stream.inputs, of_whole.inputs));
        CHECK(are_equal(of_stream.targets, of_whole.targets));
      }
    }
  }
}

TEST_CASE("a bad cell of a stream is named with its row in its file") {
  const TableFolder folder;
  arrow::DoubleBuilder numbers;
  arrow::StringBuilder kinds;
  for (int i = 0; i < 300; ++i) {
    REQUIRE(numbers.Append(i == 222 ? 1e300 : i).ok());
    REQUIRE(kinds.Append(i % 2 == 0 ? "a" : "b").ok());
  }
  const auto content =
      arrow::Table::Make(arrow::schema({arrow::field("n", arrow::float64()), arrow::field("kind", arrow::utf8())}),
                         arrow::ArrayVector{*numbers.Finish(), *kinds.Finish()});
  const auto file = folder.write_parquet("t.parquet", *content, /*group=*/50);
  const Opened stream = open({{"path", file.string()}, {"target", "kind"}}, 2);
  stream.map().fit(at::arange(200, at::kLong));
  CHECK(contains(error_of([&] { stream.map().gather(at::arange(210, 230, at::kLong), 0); }),
                 "t.parquet:row 222: column \"n\""));
}

}  // namespace ddp
