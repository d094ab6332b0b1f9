#include <string>
#include <vector>

#include "catch.h"
#include "datasets/table/value_names.h"

namespace ddp::datasets {
namespace {

using Names = std::vector<std::string>;

ValueNames distinct(const Names& cells) {
  ValueNames values;
  for (const std::string& cell : cells) values.add(cell);
  return values.sorted();
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

TEST_CASE("values that version 1 has kept are found by their number, under the names that it gave them") {
  const ValueNames kept({"7", "1e+05"}, Equal::numbers_of_version_1);
  CHECK(kept.names() == Names{"7", "1e+05"});
  for (const auto& [cell, number] : {std::pair("007", 0), {"7.0", 0}, {"100000", 1}, {"1e5", 1}, {"8", -1}}) {
    CHECK(kept.find(cell) == number);
  }
}

}  // namespace ddp::datasets
