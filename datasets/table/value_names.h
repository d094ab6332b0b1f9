#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddp::datasets {

// The distinct values of a column. Numbers are compared by value, so 1 and 1.0 are equal; text is compared by its
// bytes. The name of a value is its text, or the shortest text that reads as its number.
class ValueNames {
 public:
  ValueNames() = default;
  // The values in this order. They are numbers if every one of them reads as a number.
  explicit ValueNames(std::vector<std::string> names);

  // Returns the added values in sorted order: by value if all of them are numbers, else by their bytes.
  ValueNames sorted() const;

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

  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_;
  bool numeric_ = false;
};

}  // namespace ddp::datasets
