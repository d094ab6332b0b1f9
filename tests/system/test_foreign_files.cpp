#include <cstdlib>

#include "catch.h"
#include "looking.h"
#include "tables.h"

// Files in the place of a CSV file that are no CSV in UTF-8, or whose first line does not name the columns.
namespace ddp::system_test {
namespace {

const std::string kHouses =
    "dataset = { name = \"csv\", path = \"houses.csv\", target = \"price\", categories = [\"city\"] }\n"
    "model = { name = \"mlp\", hidden = [4] }\nloss = \"mse\"\ndevice_pool = [\"cpu\"]\nthreads = 1\n";

const std::string kRows = "rooms,city,price\n1,Bonn,1.5\n2,Ulm,2.5\n3,Bonn,3.5\n4,Ulm,4.5\n";

// houses.toml, whose houses.csv has these bytes.
struct HousesWorkspace : Workspace {
  explicit HousesWorkspace(const std::string& bytes, const std::string& name = "houses.csv") {
    require_tables();
    write("houses.toml", kHouses);
    write(name, bytes);
  }
  std::string refused(const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> arguments{"plan", "houses.toml"};
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    const Outcome outcome = run(arguments);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  }
};

void check_refused(const std::string& bytes, const std::vector<std::string>& words) {
  const std::string answer = HousesWorkspace(bytes).refused();
  INFO(answer);
  for (const std::string& word : words) CHECK(contains(answer, word));
  CHECK(lines_of(answer).size() <= 7);
}

std::string in_utf16(const std::string& ascii, bool little, const std::string& mark) {
  std::string bytes = mark;
  for (const char c : ascii) bytes += little ? std::string{c, '\0'} : std::string{'\0', c};
  return bytes;
}

// Runs the command in the answer's last line; then the copy that it writes must be planned.
void check_conversion(const std::string& bytes, const std::string& name, const std::string& copy) {
  const HousesWorkspace w(bytes, name);
  const std::string set = "dataset.path=" + name;
  const std::string command = lines_of(w.refused({set})).back();
  INFO(command);
  REQUIRE(contains(command, "iconv -f "));
  REQUIRE(std::system(command.c_str()) == 0);
  const Outcome plan = w.run({"plan", "houses.toml", "--set", "dataset.path=" + copy});
  INFO(plan.err);
  CHECK(plan.code == 0);
}

}  // namespace

TEST_CASE("a table in Latin-1 is refused in one line with its first byte, and the command in the answer converts it") {
  std::string rows = kRows;
  for (int i = 0; i < 30; ++i) rows += "5,K\xf6ln,5.5\n";
  check_refused(rows, {"houses.csv:6: column \"city\": the byte 0xf6 in \"K?ln\" is not UTF-8", "iconv -f latin1"});
  check_conversion(rows, "houses.csv", "houses-utf8.csv");
  check_conversion(rows, "my houses.csv", "my houses-utf8.csv");
  check_refused(
      "rooms,city,gr\xf6\xdf"
      "e,price\n1,Bonn,2,3\n",
      {"houses.csv:1: the header: the byte 0xf6"});
  // A character that is cut off by the end of its cell.
  check_refused("rooms,city,price\n1,K\xc3,2\n", {"houses.csv:2: column \"city\": the byte 0xc3"});
}

TEST_CASE("a table in UTF-16 is refused, and the command in the answer converts it") {
  check_refused(in_utf16(kRows, true, "\xff\xfe"), {"houses.csv: is text in UTF-16, not UTF-8"});
  check_conversion(in_utf16(kRows, true, "\xff\xfe"), "houses.csv", "houses-utf8.csv");
  check_conversion(in_utf16(kRows, true, ""), "houses.csv", "houses-utf8.csv");
  check_conversion(in_utf16(kRows, false, ""), "houses.csv", "houses-utf8.csv");
}

TEST_CASE("a file of another format that is named as a table is refused with its format and the way to a table") {
  check_refused(std::string("PK\x03\x04\x14\0\0\0", 8), {"Excel workbook (.xlsx), not CSV", "save the sheet as CSV"});
  check_refused("\xd0\xcf\x11\xe0 old", {"an Excel workbook (.xls)"});
  check_refused("<!DOCTYPE html>\n<html></html>\n", {"an HTML page, not CSV", "was the download refused?"});
  check_refused("BZh91AY&SY...", {"compressed by bzip2", "bunzip2"});
  check_refused("PAR1....", {"is a Parquet or Feather file, not CSV", "dataset.name = \"parquet\""});
  const HousesWorkspace w("PAR1....", "houses.jsonl");
  CHECK(contains(w.refused({"dataset={name=\"jsonl\", path=\"houses.jsonl\", target=\"price\"}"}), "not JSON lines"));
  const HousesWorkspace csv(kRows);
  CHECK(contains(csv.refused({"dataset={name=\"parquet\", path=\"houses.csv\", target=\"price\"}"}),
                 "dataset.name = \"csv\" reads CSV"));
}

TEST_CASE("a first line that does not name the columns is refused with its likely reason") {
  check_refused("1,Bonn,1.5\n2,Ulm,2.5\n", {"no column \"price\"",
                                            "give dataset.header = false; the columns are then "
                                            "\"0\" to \"2\""});
  check_refused("1,1,Bonn,1.5\n2,3,Ulm,2.5\n", {"have the same name: \"1\"", "dataset.header = false"});
  check_refused("Houses of 2020,,\nrooms,city,price\n1,Bonn,1.5\n", {"remove the lines above the names"});
  check_refused("Houses of 2020\nrooms,city,price\n1,Bonn,1.5\n", {"remove the lines above the names"});
  check_refused("{\"rooms\": 1, \"city\": \"Bonn\", \"price\": 2}\n", {"dataset.name = \"jsonl\""});
  const HousesWorkspace w("1,Bonn,1.5\n2,Ulm,2.5\n");
  CHECK(w.run({"plan", "houses.toml", "--set", "dataset.header=false", "--set", "dataset.target=\"2\"", "--set",
               "dataset.categories=[\"1\"]"})
            .code == 0);
  const HousesWorkspace fine(kRows);
  CHECK_FALSE(contains(fine.refused({"dataset.target=prize"}), "first line"));
}

TEST_CASE("files of arrays and images in the place of a table are refused with the dataset that reads them") {
  check_refused("\x93NUMPY\x01\x00v", {"is an array of NumPy, not CSV", "the datasets npy and npz"});
  check_refused("\x89PNG\r\n\x1a\n", {"is a PNG image, not CSV", "image_folder"});
}

TEST_CASE("rows with a wrong number of cells have one line, and the answer shows quotes") {
  std::string rows = "rooms,city,price\n1,Bonn,2\n";
  for (int i = 0; i < 7; ++i) rows += "1,Ulm,1,100\n";
  check_refused(rows, {"houses.csv:3: has 4 cells, but the header has 3; 7 of 8 rows have a wrong number of cells",
                       "a cell that contains the delimiter needs quotes: \"1,100\""});
}

TEST_CASE("numbers with signs are refused with the number to write, in targets and in features") {
  const auto column = [](const std::string& cell) {
    return "rooms,city,price\n1,Bonn," + cell + "\n2,Ulm," + cell + "\n";
  };
  check_refused(column("$100"), {"column \"price\": \"$100\" is not a number", "in place of \"$100\" write 100"});
  check_refused(column("\"$1,234,567.50\""), {"in place of \"$1,234,567.50\" write 1234567.50"});
  check_refused(column("\"1,100\""),
                {"write 1100 if the comma separates thousands, or 1.100 if it is a decimal comma"});
  check_refused(column("\"1.100,50 \xe2\x82\xac\""), {"write 1100.50"});
  check_refused(column("12%"), {"write 12"});
  check_refused(column("\"0,5\""), {"write decimal points in place of decimal commas"});
  check_refused("rooms,city,price\n$3,Bonn,1\n$4,Ulm,2\n",
                {"column \"rooms\"", "write 3", "or leave it out with dataset.drop"});
  for (const char* number : {"$100", "\"1,100\""}) {
    CHECK_FALSE(contains(HousesWorkspace(column(number)).refused(), "cross_entropy"));
  }
  check_refused(column("cheap"), {"give loss = \"cross_entropy\""});
}

TEST_CASE("an option that is missing under another name of the dataset is reported at the name") {
  const ShapesWorkspace w;
  const Outcome plan =
      w.run({"plan", "shapes.toml", "--set", "dataset.path=shapes.jsonl", "--set", "dataset.name=jsonl"});
  INFO(plan.err);
  CHECK(plan.code == 2);
  CHECK(contains(plan.err, "--set 2: \"dataset.target\" is missing"));
  CHECK(contains(plan.err, "; with another name, give all options of the table"));
}

}  // namespace ddp::system_test
