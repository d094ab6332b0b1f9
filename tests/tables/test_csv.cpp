#include <sys/stat.h>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <random>

#include "catch.h"
#include "tables/files.h"
#include "words.h"

namespace ddp {
namespace {

using format::CellType;

}  // namespace

TEST_CASE("A CSV gives the requested columns in that order, as numbers or as text") {
  const TableFolder folder;
  const auto file = folder.write("iris.csv", "length,kind,width\n5.1,setosa,3\n4.9,\"a, \"\"b\"\"\",1e-3\n");
  const auto table = format::open_table(file, {});
  REQUIRE(table->columns().size() == 3);
  CHECK(table->columns()[1].name == "kind");
  CHECK(rows_of(*table, {{"kind", CellType::text}, {"length"}, {"width", CellType::text}}) ==
        Rows{{"setosa", "5.1", "3"}, {"a, \"b\"", "4.9", "1e-3"}});
  // A second read begins at the first row.
  CHECK(rows_of(*table, {{"width"}}) == Rows{{"3"}, {"0.001"}});
}

TEST_CASE("A cell is missing if it is empty or one of five words; such a word in quotes is text") {
  // The reader has two ways to read a block: a quote inside of a cell allows only one of them.
  for (const std::string last : {"", "8,\"q\"\"\"\n"}) {
    Rows numbers = csv_rows("a,b\n,0\nNaN,0\nnan,0\nnull,0\nNone,0\n\"\",0\n\"NA\",0\n1,2\n" + last, {{"a"}});
    numbers.resize(8);
    CHECK(numbers == Rows{{"?"}, {"?"}, {"?"}, {"?"}, {"?"}, {"?"}, {"?"}, {"1"}});
    Rows texts = csv_rows("a,b\nNA,0\n\"NA\",0\n\"\",0\nnone,0\nn/a,0\n" + last, kText);
    texts.resize(5);
    CHECK(texts == Rows{{"?"}, {"NA"}, {"?"}, {"none"}, {"n/a"}});
  }
  CHECK(contains(csv_error("a,b\n1,NAN\n"), "t.csv:2: column \"b\": \"NAN\" is not a number"));
}

TEST_CASE("missing_values says which cells are missing, a number by its value; some columns except cells from it") {
  const format::TableOptions marks{.missing_values = {"", "-999", "none"}};
  for (const std::string last : {"", "8,\"q\"\"\"\n"}) {
    const std::string text = "a,b\n-999,NA\n-999.0,none\nnone,-999\n\"none\",\n7,\"none\"\n" + last;
    Rows rows = csv_rows(text, {{"a"}, {"b", CellType::text}}, marks);
    rows.resize(5);
    CHECK(rows == Rows{{"?", "NA"}, {"?", "?"}, {"?", "?"}, {"?", "?"}, {"7", "none"}});
  }
  const std::vector<format::WantedColumn> wanted{{.name = "a", .type = CellType::text, .never_missing = {"NA"}}};
  CHECK(csv_rows("a\nNA\nnull\n", wanted) == Rows{{"NA"}, {"?"}});
  // A missing cell of text keeps its text, for a warning.
  const TableFolder folder;
  const auto table = format::open_table(folder.write("t.csv", "a,b\nNA,1\n"), {});
  table->read(kText);
  format::TableChunk chunk;
  REQUIRE(table->next(chunk));
  CHECK(chunk.columns[0].is_missing(0));
  CHECK(chunk.columns[0].text_of(0) == "NA");
}

TEST_CASE("Infinity, a sign, blanks around a number, and numbers out of a double's range are numbers") {
  CHECK(csv_rows("a,b\ninf,-inf\n+1,-2\n 3 ,\t4\n1e999,1e-999\n5e-324,-0.0\n") ==
        Rows{{"inf", "-inf"}, {"1", "-2"}, {"3", "4"}, {"inf", "0"}, {"5e-324", "-0"}});
}

TEST_CASE("Every double survives the text of a CSV bit for bit") {
  std::mt19937_64 random(7);
  std::string text = "x,y\n";
  std::vector<double> values;
  while (values.size() < 100000) {
    const auto value = std::bit_cast<double>(random());
    if (value != value) continue;
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr) += values.size() % 2 ? "\n" : ",";
    values.push_back(value);
  }
  const TableFolder folder;
  const auto table = format::open_table(folder.write("t.csv", text), {});
  table->read({{"x"}, {"y"}});
  std::size_t row = 0, same = 0;
  for (format::TableChunk chunk; table->next(chunk); row += static_cast<std::size_t>(chunk.rows)) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(chunk.rows); ++r) {
      for (std::size_t c = 0; c < 2; ++c) {
        const double read = chunk.columns[c].numbers[r];
        same += std::bit_cast<std::uint64_t>(read) == std::bit_cast<std::uint64_t>(values[2 * (row + r) + c]);
      }
    }
  }
  CHECK(row == 50000);
  CHECK(same == values.size());
}

TEST_CASE("A number with the digits of 2^53 or a bit more is the nearest double, wherever its point stands") {
  std::string text = "x\n";
  std::vector<double> expected;
  for (std::int64_t digits = (std::int64_t{1} << 53) - 3; digits < (std::int64_t{1} << 53) + 6; ++digits) {
    for (std::size_t point = 0; point < 17; ++point) {
      const std::string number = "0" + std::to_string(digits);
      const std::string written = number.substr(0, 1 + point) + "." + number.substr(1 + point);
      text += written + "\n";
      expected.push_back(std::strtod(written.c_str(), nullptr));
    }
  }
  const TableFolder folder;
  const auto table = format::open_table(folder.write("t.csv", text), {});
  table->read({{"x"}});
  format::TableChunk chunk;
  REQUIRE(table->next(chunk));
  CHECK(std::vector<double>(chunk.columns[0].numbers, chunk.columns[0].numbers + chunk.rows) == expected);
}

TEST_CASE("Lines may end in CR LF, in CR, or not at all; empty lines are not rows; a byte order mark is ignored") {
  const Rows rows{{"1", "2"}, {"3", "4"}};
  CHECK(csv_rows("a,b\r\n1,2\r\n3,4\r\n") == rows);
  CHECK(csv_rows("a,b\r1,2\r3,4\r") == rows);
  CHECK(csv_rows("a,b\n1,2\n3,4") == rows);
  CHECK(csv_rows("\n\na,b\n\n1,2\n\r\n3,4\n\n") == rows);
  CHECK(csv_rows("\xef\xbb\xbf"
                 "a,b\n1,2\n3,4\n") == rows);
}

TEST_CASE("Without a header columns are named by their number; the delimiter can be chosen") {
  const TableFolder folder;
  const auto table = format::open_table(folder.write("t.tsv",
                                                     "\xef\xbb\xbf"
                                                     "1\t2\n3\t4\n"),
                                        {.delimiter = '\t', .header = false});
  REQUIRE(table->columns().size() == 2);
  CHECK(table->columns()[1].name == "1");
  CHECK(rows_of(*table, {{"1"}, {"0"}}) == Rows{{"2", "1"}, {"4", "3"}});
  CHECK(csv_rows("a;b\n\"1;\";2\n", kText, {.delimiter = ';'}) == Rows{{"1;"}});
}

TEST_CASE("Names of columns stay unchanged") {
  CHECK(csv_rows(" a ,\"b \"\"c\"\"\",\n1,2,3\n", {{" a "}, {"b \"c\""}, {""}}) == Rows{{"1", "2", "3"}});
}

TEST_CASE("Two columns of one name, a column that does not exist, and an empty file are refused") {
  CHECK(contains(csv_error("a,b,a\n1,2,3\n"), "columns 1 and 3 have the same name: \"a\""));
  const std::string missing = csv_error("x,y\n1,2\n");
  CHECK(contains(missing, "t.csv: has no columns \"a\", \"b\""));
  CHECK(contains(missing, "its columns: \"x\", \"y\""));
  CHECK(contains(csv_error(""), "is empty"));
  CHECK(contains(csv_error("\n\n"), "is empty"));
}

TEST_CASE("A CSV with only a header has no rows") {
  CHECK(csv_rows("a,b\n").empty());
  CHECK(csv_rows("a,b").empty());
}

TEST_CASE("A ragged row is named with its line and the columns of the header") {
  const std::string text = csv_error("a,b\n1,2\n\"3\n\",4\n5\n6,7,8\n");
  CHECK(contains(text, "t.csv:5: has 1 cell, but the header has 2"));
  CHECK(contains(text, "t.csv:6: has 3 cells, but the header has 2"));
  // The file's other mistake is reported too.
  CHECK(contains(text, "t.csv:3: column \"a\": \"3?\" is not a number"));
}

TEST_CASE("Five bad cells of a column are named one by one; six have one line, with the remedy for text") {
  std::string content = "a,b\n";
  for (int i = 0; i < 5; ++i) content += "1,red\n";
  CHECK(contains(csv_error(content), "t.csv:6: column \"b\": \"red\" is not a number"));
  const std::string text = csv_error(content + "1,red\n");
  CHECK(contains(text, "t.csv:2: column \"b\": \"red\" is not a number; 6 of 6 rows have this mistake"));
  CHECK_FALSE(contains(text, "t.csv:3:"));
  CHECK(contains(text, "dataset.categories"));
  CHECK(contains(text, "dataset.drop"));
}

TEST_CASE("Up to five ragged rows have a line each, and more have one line together") {
  std::string content = "a,b\n";
  for (int i = 0; i < 5; ++i) content += "1\n";
  CHECK(contains(csv_error(content), "t.csv:6: has 1 cell, but the header has 2"));
  for (int i = 0; i < 20; ++i) content += "1\n";
  const std::string text = csv_error(content + "1,2\n");
  CHECK(contains(text, "t.csv:2: has 1 cell, but the header has 2; 25 of 26 rows have this mistake"));
  CHECK_FALSE(contains(text, "t.csv:3:"));
}

TEST_CASE("The first 20 of 25 bad cells in columns of their own are reported") {
  std::string header = "c0", row = "x";
  for (int i = 1; i < 25; ++i) {
    header += ",c" + std::to_string(i);
    row += ",x";
  }
  std::vector<format::WantedColumn> wanted;
  for (int i = 0; i < 25; ++i) wanted.push_back({.name = "c" + std::to_string(i)});
  const TableFolder folder;
  const std::string text = error_of([&] { rows_of(folder.write("t.csv", header + "\n" + row + "\n"), {}, wanted); });
  CHECK(contains(text, "t.csv:2: column \"c0\""));
  CHECK(contains(text, "these are the first 20 mistakes"));
  CHECK_FALSE(contains(text, "t.csv:2: column \"c9\""));
}

TEST_CASE("Mistakes after the first block of a file are found") {
  std::string content = "a,b\n";
  while (content.size() < 9 << 20) content += "0.12345678901234567,0.12345678901234567\n";
  const auto lines = std::count(content.begin(), content.end(), '\n');
  CHECK(contains(csv_error(content + "1,x\n"), "t.csv:" + std::to_string(lines + 1) + ": column \"b\": \"x\""));
}

TEST_CASE("Text that is not UTF-8 is refused with its line, and shown without its bytes, also as a number's cell") {
  CHECK(contains(csv_error("a,b\nx,1\n\xff\xfe,2\n", kText), "t.csv:3: column \"a\""));
  CHECK(contains(csv_error("a,b\n\xff\x1b[2J,2\n"), "column \"a\": \"??[2J\" is not UTF-8"));
  CHECK(contains(csv_error("a,b\n\x1b[2J,2\n"), "\"?[2J\" is not a number"));
}

TEST_CASE("A gzip file is unpacked; a file that is cut off or not gzip is refused") {
  const TableFolder folder;
  std::string content = "a,b\n";
  for (int i = 0; i < 20000; ++i) content += std::to_string(i) + "," + std::to_string(i * i % 1000) + "\n";
  const auto packed = folder.write_gzip("t.csv.gz", content);
  CHECK(rows_of(packed, {}, kAB) == csv_rows(content));
  const auto size = std::filesystem::file_size(packed);
  std::filesystem::resize_file(packed, size + 1000);
  CHECK(rows_of(packed, {}, kAB) == csv_rows(content));
  std::ofstream(packed, std::ios::app) << "xx";
  CHECK(contains(error_of([&] { rows_of(packed, {}, kAB); }), "incorrect header check"));
  std::filesystem::resize_file(packed, size / 2);
  CHECK(contains(error_of([&] { rows_of(packed, {}, kAB); }), "the gzip file is cut off"));
  CHECK(contains(error_of([&] { rows_of(folder.write("plain.csv.gz", content), {}, kAB); }), "is not a gzip file"));
}

TEST_CASE("A pipe, a folder and a missing file are refused at once") {
  const TableFolder folder;
  REQUIRE(mkfifo((folder.folder() / "pipe.csv").c_str(), 0600) == 0);
  for (const char* format : {"csv", "parquet", "jsonl"}) {
    const auto error = [&](const std::filesystem::path& file) {
      return error_of([&] { format::open_table(file, {.format = format}); });
    };
    CHECK(contains(error(folder.folder() / "pipe.csv"), "is not a regular file"));
    CHECK(contains(error(folder.folder()), "is a folder, not a file"));
    CHECK(contains(error(folder.folder() / "none.csv"), "No such file"));
  }
}

TEST_CASE("Rows of one column, and rows with thousands of columns, are read") {
  std::string narrow = "a\n", wide = "c0";
  for (int i = 0; i < 2000000; ++i) narrow += "7\n";
  CHECK(csv_rows(narrow, {{"a"}}).size() == 2000000);
  std::string cells = "0.5";
  for (int i = 1; i < 200000; ++i) {
    wide += ",c" + std::to_string(i);
    cells += ",0.123456789012";
  }
  CHECK(csv_rows(wide + "\n" + cells + "\n" + cells + "\n", {{"c199999"}, {"c0"}}) ==
        Rows{{"0.123456789012", "0.5"}, {"0.123456789012", "0.5"}});
}

TEST_CASE("A ragged row without quotes is named at any place of the file") {
  for (const std::string bad : {"1", "1,2,3", "1,2,", "x,2"}) {
    for (const int before : {0, 5, 300000}) {
      std::string content = "a,b\n";
      for (int row = 0; row < before; ++row) content += "1,2\n";
      INFO(bad << " behind " << before);
      CHECK(contains(csv_error(content + bad + "\n1,2\n"), "t.csv:" + std::to_string(before + 2) + ": "));
      CHECK(contains(csv_error(content + bad), "t.csv:" + std::to_string(before + 2) + ": "));
    }
  }
}

TEST_CASE("A file of another format in the place of a CSV is named") {
  const auto refused = [](const std::string& bytes) { return csv_error(bytes); };
  CHECK(contains(refused(std::string("PK\x03\x04\x14\0\0\0", 8)), "is an Excel workbook or a zip archive, not CSV"));
  CHECK(contains(refused("PAR1...."), "is a Parquet file, not CSV"));
  CHECK(contains(refused(std::string("\xff\xfe"
                                     "a\0,\0",
                                     6)),
                 "is text in UTF-16, not CSV"));
  // Latin-1: one line, also if each row has such a byte.
  CHECK(contains(refused("a,b\n1,2\nK\xf6ln,2\nK\xf6ln,3\n"), "t.csv:3: column \"a\": \"K?ln\" is not UTF-8"));
  CHECK(contains(refused("gr\xf6\xdf"
                         "e,b\n1,2\n"),
                 "t.csv:1: the header: "));
  // A character that is cut off by the end of its cell.
  CHECK(contains(refused("a,b\nK\xc3,2\n"), "t.csv:2: column \"a\": "));
  const TableFolder folder;
  const auto error = [&](const std::string& name, const std::string& content, const char* format) {
    const auto file = folder.write(name, content);
    return error_of([&] { format::open_table(file, {.format = format}); });
  };
  CHECK(contains(error("t.jsonl", "PAR1....", "jsonl"), "is a Parquet file, not JSON lines"));
  CHECK(contains(error("t.csv", "a,b\n1,2\n", "parquet"), "dataset.name = \"csv\" reads CSV"));
}

}  // namespace ddp
