#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "errors.h"
#include "format/table.h"
#include "tables/files.h"
#include "words.h"

namespace ddp {
namespace {

using format::CellType;
using format::TableOptions;

const TableOptions kParquet{.format = "parquet"};
const TableOptions kJsonl{.format = "jsonl"};

// A column from JSON: column(arrow::int8(), "[1, null]").
std::shared_ptr<arrow::Array> column(const std::shared_ptr<arrow::DataType>& type, const std::string& cells) {
  auto array = arrow::json::ArrayFromJSONString(type, cells);
  INFO(array.status().ToString());
  REQUIRE(array.ok());
  return *array;
}

std::shared_ptr<arrow::Table> table(const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, cells] : columns) {
    fields.push_back(arrow::field(name, cells->type()));
    arrays.push_back(cells);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

// Requires the same rows from both columnar formats, and returns them.
Rows columnar_rows(const arrow::Table& content, const std::vector<format::WantedColumn>& wanted) {
  const TableFolder folder;
  const Rows rows = rows_of(folder.write_parquet("t.parquet", content), kParquet, wanted);
  CHECK(rows_of(folder.write_feather("t.feather", content), kParquet, wanted) == rows);
  return rows;
}

std::string columnar_error(const arrow::Table& content, const std::vector<format::WantedColumn>& wanted) {
  const TableFolder folder;
  const auto file = folder.write_parquet("t.parquet", content);
  return error_of([&] { rows_of(file, kParquet, wanted); });
}

std::string jsonl_error(const std::string& content, const std::vector<format::WantedColumn>& wanted = {{"a"}}) {
  const TableFolder folder;
  const auto file = folder.write("t.jsonl", content);
  return error_of([&] { rows_of(file, kJsonl, wanted); });
}

}  // namespace

TEST_CASE("The same table gives the same bits from CSV, gzip, Parquet, Feather and JSON lines") {
  std::mt19937_64 random(11);
  std::string csv = "x,n,kind\n", jsonl;
  arrow::DoubleBuilder xs;
  arrow::Int32Builder ns;
  arrow::StringBuilder kinds;
  for (int i = 0; i < 100000; ++i) {
    double x = std::bit_cast<double>(random());
    while (!std::isfinite(x)) x = std::bit_cast<double>(random());
    const bool missing = i % 7 == 0;
    char digits[32];
    const std::string text(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    const std::string kind = "kind " + std::to_string(i % 3);
    csv += (missing ? "" : text) + "," + std::to_string(i) + "," + (missing ? "NA" : kind) + "\n";
    jsonl += "{\"x\": " + (missing ? "null" : text) + ", \"n\": " + std::to_string(i) +
             ", \"kind\": " + (missing ? "null" : '"' + kind + '"') + "}\n";
    REQUIRE((missing ? xs.AppendNull() : xs.Append(x)).ok());
    REQUIRE(ns.Append(i).ok());
    REQUIRE((missing ? kinds.AppendNull() : kinds.Append(kind)).ok());
  }
  const auto content = table({{"x", *xs.Finish()}, {"n", *ns.Finish()}, {"kind", *kinds.Finish()}});
  const std::vector<format::WantedColumn> wanted{{"n"}, {"x"}, {"kind", CellType::text}};
  const TableFolder folder;
  const Rows rows = rows_of(folder.write("t.csv", csv), {}, wanted);
  REQUIRE(rows.size() == 100000);
  CHECK(rows[7] == std::vector<std::string>{"7", "?", "?"});
  CHECK(rows_of(folder.write_gzip("t.csv.gz", csv), {}, wanted) == rows);
  CHECK(rows_of(folder.write_parquet("t.parquet", *content, /*group=*/30000), kParquet, wanted) == rows);
  CHECK(rows_of(folder.write_feather("t.feather", *content), kParquet, wanted) == rows);
  CHECK(rows_of(folder.write("t.jsonl", jsonl), kJsonl, wanted) == rows);
  CHECK(rows_of(folder.write_gzip("t.jsonl.gz", jsonl), kJsonl, wanted) == rows);
}

TEST_CASE("Columns of all integers, floats, decimals and booleans are numbers") {
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns;
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64(), arrow::uint8(),
                           arrow::uint16(), arrow::uint32(), arrow::uint64(), arrow::float32(), arrow::float64()}) {
    columns.emplace_back(type->ToString(), column(type, "[1, null, 100]"));
  }
  columns.emplace_back("half", column(arrow::float16(), "[1, null, 100]"));
  columns.emplace_back("decimal", column(arrow::decimal128(20, 2), "[\"1.00\", null, \"100.00\"]"));
  std::vector<format::WantedColumn> numbers, texts;
  for (const auto& [name, cells] : columns) {
    numbers.push_back({name});
    texts.push_back({name, CellType::text});
  }
  const auto content = table(columns);
  const std::vector<std::string> missing(columns.size(), "?"), one(columns.size(), "1"), hundred(columns.size(), "100");
  CHECK(columnar_rows(*content, numbers) == Rows{one, missing, hundred});
  CHECK(columnar_rows(*content, texts) == Rows{one, missing, hundred});
  const auto flags = table({{"a", column(arrow::boolean(), "[true, null, false]")}});
  CHECK(columnar_rows(*flags, {{"a"}, {"a", CellType::text}}) == Rows{{"1", "1"}, {"?", "?"}, {"0", "0"}});
  const TableFolder folder;
  const auto opened = format::open_table(folder.write_parquet("t.parquet", *content), kParquet);
  CHECK(opened->columns()[0].type == CellType::number);
}

TEST_CASE("Whole numbers beyond 2^53 are the nearest double as numbers and keep their digits as text") {
  const auto content = table({{"a", column(arrow::int64(), "[9007199254740993, -9223372036854775808, 100000]")}});
  CHECK(columnar_rows(*content, {{"a"}}) == Rows{{"9007199254740992"}, {"-9223372036854775808"}, {"1e+05"}});
  CHECK(columnar_rows(*content, {{"a", CellType::text}}) ==
        Rows{{"9007199254740993"}, {"-9223372036854775808"}, {"100000"}});
  const auto decimals = table({{"a", column(arrow::decimal128(38, 30), "[\"0.100000000000000005551115123126\"]")}});
  CHECK(columnar_rows(*decimals, {{"a"}}) == Rows{{"0.1"}});
  const auto whole =
      table({{"a", column(arrow::decimal128(20, 2), "[\"9007199254740993.00\", \"-7.00\", \"0.50\", null]")}});
  CHECK(columnar_rows(*whole, {{"a", CellType::text}}) == Rows{{"9007199254740993"}, {"-7"}, {"0.5"}, {"?"}});
}

TEST_CASE("A float as text has the shortest digits that give the same double") {
  const auto content = table({{"a", column(arrow::float64(), "[0.1, 1e300, 100000, -2.5, 3]")}});
  CHECK(columnar_rows(*content, {{"a", CellType::text}}) == Rows{{"0.1"}, {"1e+300"}, {"100000"}, {"-2.5"}, {"3"}});
}

TEST_CASE("Only null is missing in columns, and NaN in columns of numbers; no text is missing") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  arrow::DoubleBuilder numbers;
  for (const double value : {1.0, nan, 3.0}) REQUIRE(numbers.Append(value).ok());
  const auto content = table({{"a", *numbers.Finish()}, {"b", column(arrow::utf8(), R"(["NA", "", "x"])")}});
  CHECK(columnar_rows(*content, {{"a"}, {"b", CellType::text}, {"a", CellType::text}}) ==
        Rows{{"1", "NA", "1"}, {"?", "", "?"}, {"3", "x", "3"}});
  const auto nothing = table({{"a", column(arrow::null(), "[null, null]")}});
  CHECK(columnar_rows(*nothing, {{"a"}, {"a", CellType::text}}) == Rows{{"?", "?"}, {"?", "?"}});
}

TEST_CASE("Text in dictionaries, with wide offsets, in views and of dates is text") {
  const auto words = column(arrow::utf8(), R"(["x", null, "x"])");
  arrow::StringDictionaryBuilder codes;
  for (const char* word : {"x", "NA", "x"}) REQUIRE(codes.Append(word).ok());
  const auto content = table({{"large", column(arrow::large_utf8(), R"(["x", null, "x"])")},
                              {"code", *codes.Finish()},
                              {"day", column(arrow::date32(), "[0, null, 1]")}});
  CHECK(columnar_rows(*content, {{"large", CellType::text}, {"code", CellType::text}, {"day", CellType::text}}) ==
        Rows{{"x", "x", "1970-01-01"}, {"?", "NA", "?"}, {"x", "x", "1970-01-02"}});
}

TEST_CASE("A text column that is read as numbers is parsed; its bad cells are named with their rows") {
  const auto content = table({{"a", column(arrow::utf8(), R"(["1.5", null, "-3"])")}});
  CHECK(columnar_rows(*content, {{"a"}}) == Rows{{"1.5"}, {"?"}, {"-3"}});
  CHECK(contains(columnar_error(*table({{"a", column(arrow::utf8(), R"(["1", "NA"])")}}), {{"a"}}),
                 "row 1: column \"a\": \"NA\" is not a number"));
  arrow::StringBuilder words;
  for (int i = 0; i < 200000; ++i) REQUIRE(words.Append(i % 50000 == 1 ? "red" : "1").ok());
  const std::string text = columnar_error(*table({{"a", *words.Finish()}}), {{"a"}});
  CHECK(contains(text, "t.parquet:row 1: column \"a\": \"red\" is not a number"));
  CHECK(contains(text, "t.parquet:row 150001: column"));
}

TEST_CASE("Binary cells are text if they are UTF-8; others are named with column and row") {
  arrow::BinaryBuilder cells;
  for (const char* cell : {"x", "\xc3\xa4", "\xff\x01"}) REQUIRE(cells.Append(cell).ok());
  const auto content = table({{"b", *cells.Finish()}});
  CHECK(columnar_rows(*content->Slice(0, 2), {{"b", CellType::text}}) == Rows{{"x"}, {"ä"}});
  CHECK(contains(columnar_error(*content, {{"b", CellType::text}}), "t.parquet:row 2: column \"b\": \"??\""));
}

TEST_CASE("A column of lists or structs is refused by its name, but only if it is requested") {
  const auto content = table({{"l", column(arrow::list(arrow::float64()), "[[1], [2]]")},
                              {"s", column(arrow::struct_({arrow::field("x", arrow::int8())}), "[{\"x\": 1}, null]")},
                              {"a", column(arrow::int8(), "[1, 2]")}});
  CHECK(columnar_rows(*content, {{"a"}}) == Rows{{"1"}, {"2"}});
  CHECK(contains(columnar_error(*content, {{"l"}}), "column \"l\" contains cells of type list"));
  CHECK(contains(columnar_error(*content, {{"s", CellType::text}}), "column \"s\" contains cells of type struct"));
  CHECK(contains(columnar_error(*table({{"d", column(arrow::date32(), "[1]")}}), {{"d"}}), "are no numbers"));
}

TEST_CASE("Columns that a Parquet file lacks and duplicate names are refused") {
  const auto one = column(arrow::int8(), "[1]");
  CHECK(contains(columnar_error(*table({{"x", one}}), {{"y"}}), "has no column \"y\""));
  CHECK(contains(columnar_error(*table({{"x", one}, {"x", one}}), {{"x"}}), "columns 1 and 2 have the same name"));
}

TEST_CASE("A Parquet or Feather file that is cut off or of another type is refused") {
  std::string numbers = "[0";
  for (int i = 1; i < 5000; ++i) numbers += "," + std::to_string(i * 7919 % 10007);
  const auto content = table({{"a", column(arrow::float64(), numbers + "]")}});
  const TableFolder folder;
  for (const auto& file : {folder.write_parquet("t.parquet", *content), folder.write_feather("t.feather", *content)}) {
    const auto whole = std::filesystem::file_size(file);
    for (const auto size : {whole - 1, whole / 2, std::uintmax_t{6}, std::uintmax_t{0}}) {
      std::filesystem::resize_file(file, size);
      CHECK(contains(error_of([&] { rows_of(file, kParquet, {{"a"}}); }), file.string()));
    }
  }
  CHECK(contains(error_of([&] { format::open_table(folder.write("t.csv", "a,b\n1,2\n"), kParquet); }),
                 "is neither a Parquet nor a Feather file"));
}

TEST_CASE("JSON lines: each key is a column, in the order of their first lines; a missing key is a missing value") {
  const TableFolder folder;
  const auto file =
      folder.write("t.jsonl", "{\"b\": 1, \"a\": \"x\"}\n\n{\"a\": null, \"c\": true}\n{\"b\": 2.5, \"d\": [1]}\n");
  const auto opened = format::open_table(file, kJsonl);
  std::vector<std::string> names;
  for (const auto& info : opened->columns()) names.push_back(info.name);
  CHECK(names == std::vector<std::string>{"b", "a", "c", "d"});
  CHECK(opened->columns()[0].type == CellType::number);
  CHECK(opened->columns()[1].type == CellType::text);
  CHECK(rows_of(*opened, {{"a", CellType::text}, {"b"}, {"c"}, {"b", CellType::text}}) ==
        Rows{{"x", "1", "?", "1"}, {"?", "?", "1", "?"}, {"?", "2.5", "?", "2.5"}});
  CHECK(contains(error_of([&] { opened->read({{"d"}}); }), "column \"d\" contains cells of type list"));
}

TEST_CASE("Keys and kinds of JSON lines count wherever they stand in the file") {
  std::string content;
  while (content.size() < 6 << 20) content += "{\"a\": 1, \"b\": null}\n";
  const TableFolder folder;
  const auto file = folder.write("t.jsonl", content + "{\"l\\u0061te\": \"x\", \"b\": \"y\", \"a\": 0.5}\n");
  const Rows rows = rows_of(file, kJsonl, {{"a", CellType::text}, {"b", CellType::text}, {"late", CellType::text}});
  CHECK(rows.front() == std::vector<std::string>{"1", "?", "?"});
  CHECK(rows.back() == std::vector<std::string>{"0.5", "y", "x"});
}

TEST_CASE("A cell of another kind than the first ones of its column is named with its line, as number and as text") {
  const std::string mixed = "{\"a\": 1}\n{\"a\": 2}\n\n{\"a\": \"3\"}\n{\"a\": 4}\n";
  CHECK(contains(jsonl_error(mixed), "t.jsonl:4: column \"a\": \"3\" is text, but the first cells"));
  CHECK(contains(jsonl_error(mixed, {{"a", CellType::text}}), "t.jsonl:4: column \"a\": \"3\" is text"));
  CHECK(contains(jsonl_error("{\"a\": \"1\"}\n\n{\"a\": \"red\"}\n"), "t.jsonl:3: column \"a\": \"red\""));
  for (const char* other : {"18446744073709551615", "9007199254740993}\n{\"a\": 0.5"}) {
    const std::string lines = "{\"a\": 1}\n{\"a\": " + std::string(other) + "}\n";
    CHECK(contains(jsonl_error(lines, {{"a", CellType::text}}), "t.jsonl:2: column \"a\": a number of 2^53 or more"));
    CHECK(jsonl_error(lines, {{"a"}}).empty());
  }
}

TEST_CASE(
    "NaN of Python's json.dumps is a missing cell, Infinity is refused by its line; a byte order mark is ignored") {
  const std::string lines =
      "\xef\xbb\xbf{\"a\": NaN, \"t\": \"NaN \\\"Infinity\", \"i\": [-Infinity]}\n{\"a\":2,\"i\":null,\"t\":NaN}\n"
      "{\"i\": -Infinity, \"\\u0061\": 3}\n";
  const TableFolder folder;
  CHECK(rows_of(folder.write("t.jsonl", lines), kJsonl, {{"a"}, {"t", CellType::text}}) ==
        Rows{{"?", "NaN \"Infinity"}, {"2", "?"}, {"3", "?"}});
  CHECK(contains(jsonl_error("{\"a\": 1}\n{\"a\": Infinity}\n"), "t.jsonl:2: column \"a\": Infinity is not a finite"));
}

TEST_CASE("A line of JSON may be longer than the pieces in which a file is read") {
  const TableFolder folder;
  const std::string lines = "{\"a\": 1, \"b\": \"" + std::string(9 << 20, 'x') + "\"}\n{\"a\": NaN}\n{\"a\": 2}\n";
  CHECK(rows_of(folder.write("t.jsonl", lines), kJsonl, {{"a"}}) == Rows{{"1"}, {"?"}, {"2"}});
}

// nlohmann's parser judges: lines with one changed byte are refused exactly if it refuses them.
TEST_CASE("Lines of JSON have the cells that another parser finds, and are refused if it refuses them") {
  std::mt19937_64 random(58);
  const TableFolder folder;
  const std::vector<std::string> numbers{"0", "-0", "12", "-3.25", "1e-3", "6.02E+23", "0.1e1", "9007199254740993"};
  const std::vector<std::string> texts{"", "x", "\\u00e4\\ud83d\\ude00", "a\\\\\\\"b", "\\/\\b\\n\\t", "{[,é"};
  const auto one_of = [&](const std::vector<std::string>& list) { return list[random() % list.size()]; };
  const std::string changed_to = R"( "\{}[],:.-+0123456789eEuntrflaxd)";
  int refused = 0, read = 0;
  for (int time = 0; time < 10'000; ++time) {
    std::string line = "{\"number\": " + one_of(numbers) + ",\"other\" :[1,{\"x\":" + one_of(numbers) + "}, \"" +
                       one_of(texts) + "\"], \"text\":\"" + one_of(texts) + "\", \"truth\": true }";
    if (time % 4 != 0) line[random() % line.size()] = changed_to[random() % changed_to.size()];
    const auto file = folder.write("t.jsonl", "{\"number\": 1, \"text\": \"y\", \"truth\": false}\n" + line + "\n");
    Rows rows;
    const std::string error = error_of([&] {
      rows = rows_of(file, kJsonl, {{"number"}, {"text", CellType::text}, {"truth"}});
    });
    INFO(line << "\n" << error);
    nlohmann::json parsed;
    try {
      parsed = nlohmann::json::parse(line);
    } catch (const nlohmann::json::exception&) {  // not JSON, or a number that no double can hold
    }
    if (!parsed.is_object()) {
      REQUIRE(contains(error, "t.jsonl:2:"));
      ++refused;
      continue;
    }
    const auto number = parsed.find("number"), text = parsed.find("text"), truth = parsed.find("truth");
    const bool fits = (number == parsed.end() || number->is_number()) && (text == parsed.end() || text->is_string()) &&
                      (truth == parsed.end() || truth->is_boolean());
    REQUIRE(error.empty() == fits);
    if (!fits) continue;
    REQUIRE(rows.size() == 2);
    if (number == parsed.end()) {
      CHECK(rows[1][0] == "?");
    } else {
      CHECK(std::stod(rows[1][0]) == number->get<double>());
    }
    CHECK(rows[1][1] == (text == parsed.end() ? "?" : text->get<std::string>()));
    CHECK(rows[1][2] == (truth == parsed.end() ? "?" : truth->get<bool>() ? "1" : "0"));
    ++read;
  }
  CHECK(refused > 1000);
  CHECK(read > 2500);
  for (const std::string& number : {std::string("1e999"), std::string("-1E400"), std::string(400, '9')}) {
    CHECK(
        contains(jsonl_error("{\"a\": 1}\n{\"a\": " + number + "}\n"), "t.jsonl:2: column \"a\": a number is beyond"));
  }
  CHECK(contains(jsonl_error("{\"a\": 1}\n{\"a\": 2, \"a\": 3}\n"), "t.jsonl:2: has the key \"a\" twice"));
}

TEST_CASE("A bad line of JSON lines is named: not an object, not JSON, or a cell of another type") {
  std::string content;
  while (content.size() < 2 << 20) content += "{\"a\": 1}\n";
  const auto line = std::to_string(std::count(content.begin(), content.end(), '\n') + 1);
  CHECK(contains(jsonl_error(content + "{\"a\": \"red\"}\n"), "t.jsonl:" + line + ": column \"a\": \"red\" is text"));
  CHECK(contains(jsonl_error(content + "[1]\n"), "t.jsonl:" + line + ": is not a JSON object"));
  CHECK(contains(jsonl_error(content + "{\"a\": }\n"), "t.jsonl:" + line + ":"));
  CHECK(contains(jsonl_error("[1]\n"), "t.jsonl:1: is not a JSON object"));
  CHECK(contains(jsonl_error("{\"a\": 1}\n{\"a\"\n"), "t.jsonl:2:"));
  CHECK(contains(jsonl_error("\n"), "is empty"));
  CHECK(contains(jsonl_error("{\"b\": 1}\n"), "has no column \"a\""));
}

}  // namespace ddp
