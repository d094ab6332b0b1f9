#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddp::datasets {

// The rule by which two values of a column are one.
enum class Equal {
  bytes,                 // texts with the same bytes, such as categories
  numbers,               // the same number, such as 1 and 1.0, if every value is one; 007 is text, not a number
  numbers_of_version_2,  // the same without blanks around numbers and without inf, and with +-1 as -1
  numbers_of_version_1,  // as version 2 with 007 as a number, and categories too; names stay as they were written
};

// The distinct values of a column. The name of a value is its text; of a number it is its digits, or the shortest text
// that reads as the number if it is not whole.
class ValueNames {
 public:
  ValueNames() = default;
  // The values in this order.
  explicit ValueNames(std::vector<std::string> names, Equal equal = Equal::numbers);

  // Returns the added values in sorted order: by value if all of them are numbers, else by their bytes.
  ValueNames sorted(Equal equal = Equal::numbers) const;

  // Adds a value if it is new.
  void add(std::string_view text);
  // Returns the number of a value; -1: unknown value.
  std::int64_t find(std::string_view text) const;

  // True if there are values, and every one of them reads as a number.
  bool is_numeric() const { return numeric_ && size() > 0; }
  std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void add(std::string_view text, std::string_view name);

  Equal equal_ = Equal::bytes;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_;  // by text, or digits of a number
  bool numeric_ = false;                                                          // numbers are compared by value
};

}  // namespace ddp::datasets
