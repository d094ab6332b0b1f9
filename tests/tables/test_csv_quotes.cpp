#include <random>
#include <utility>

#include "catch.h"
#include "tables/files.h"
#include "words.h"

namespace ddp {
namespace {

using format::CellType;
using format::TableOptions;

}  // namespace

TEST_CASE("Cells in quotes may hold line breaks and delimiters") {
  const std::string cell = "one\ntwo,\r\n\"three\"";
  CHECK(csv_rows("a,b\n\"one\ntwo,\r\n\"\"three\"\"\",1\n", kText) == Rows{{cell}});
  // More of them than fit into one block of the reader.
  std::string text = "a,b\n";
  for (int i = 0; i < 300000; ++i) text += "\"x\n,y" + std::to_string(i) + "\",1\n";
  const Rows rows = csv_rows(text, kText);
  REQUIRE(rows.size() == 300000);
  CHECK(rows[299999][0] == "x\n,y299999");
}

TEST_CASE("A quoted cell that is never closed is named with the line where it begins") {
  CHECK(contains(csv_error("a,b\n1,2\n3,\"4\n5,6\n"), "t.csv:3: a quoted cell begins here but is never closed"));
}

TEST_CASE("A CSV without quotes reads the same as with its cells in quotes and with a quote in them") {
  // The reader has two ways to read a block, chosen by its bytes: a quote in a cell allows only one of them.
  std::mt19937_64 random(11);
  const std::vector<std::string> cells = {"0",
                                          "-0",
                                          "7",
                                          "-12.5",
                                          "3.",
                                          ".25",
                                          "-.5",
                                          "1e5",
                                          "2.5E-3",
                                          "",
                                          "inf",
                                          "-inf",
                                          "+4",
                                          " 8 ",
                                          "1e400",
                                          "5e-324",
                                          "0.1",
                                          "9007199254740993",
                                          "1234567890123456789",
                                          "12345678901234567890123",
                                          "0.30000000000000004",
                                          "123456.789012345678"};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    for (const char delimiter : {',', ';', '\t', '.', '-', '5'}) {
      std::string plain = std::string("a") + delimiter + "b" + delimiter + "c" + delimiter + "d" + end;
      std::string quoted = plain, quote_inside = plain;
      for (int row = 0; row < 300; ++row) {
        for (int column = 0; column < 3; ++column) {
          const std::string& cell = cells[random() % cells.size()];
          const bool holds_delimiter = cell.find(delimiter) != std::string::npos;
          const std::string taken = holds_delimiter ? "7" == std::string(1, delimiter) ? "8" : "7" : cell;
          plain += taken + delimiter;
          quoted += '"' + taken + '"' + delimiter;
          quote_inside += '"' + taken + '"' + delimiter;
        }
        const std::string after = row < 299 ? end : "";
        plain += "d" + after;
        quoted += "\"d\"" + after;
        quote_inside += "\"d\"\"d\"" + after;
      }
      INFO("delimiter " << delimiter << ", line end of " << end.size());
      const TableOptions options{.delimiter = delimiter};
      for (const auto& wanted : {std::vector<format::WantedColumn>{{"c"}, {"a"}},
                                 {{"b", CellType::text}, {"a"}},
                                 {{"a"}, {"b"}, {"c", CellType::text}},
                                 {{"c"}, {"c"}, {"a", CellType::text}}}) {
        const Rows rows = csv_rows(plain, wanted, options);
        CHECK(rows.size() == 300);
        CHECK(rows == csv_rows(quoted, wanted, options));
        CHECK(rows == csv_rows(quote_inside, wanted, options));
      }
    }
  }
}

TEST_CASE("Quoted cells are read in every block of a file, and a line break or a quote in a cell ends no row") {
  const std::vector<format::WantedColumn> wanted{{"a"}, {"b", CellType::text}};
  constexpr int kRows = 300'000;  // 4 MB: several blocks
  std::string first = "a,b\n", second;
  for (int row = 0; row < kRows; ++row) {
    (row < kRows / 2 ? first : second) += std::to_string(row) + ",\"x, " + std::to_string(row % 7) + "\"\n";
  }
  const Rows simple = csv_rows(first + "5,\"odd\"\n" + second, wanted);
  REQUIRE(simple.size() == kRows + 1);
  CHECK(simple.back() == std::vector<std::string>{"299999", "x, 0"});
  for (const auto& [cell, text] :
       {std::pair{"\"o\nd\"", "o\nd"}, {"\"o\"\"d\"", "o\"d"}, {"o\"d", "o\"d"}, {"\"o\"d", "od"}}) {
    INFO(cell);
    Rows expected = simple;
    expected[kRows / 2][1] = text;
    CHECK((csv_rows(first + "5," + cell + "\n" + second, wanted) == expected));
  }
}

}  // namespace ddp
