#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddp::datasets {

// The distinct values of a column as they are told apart: numbers by value, so that 1 and 1.0 are one, text by its
// bytes. A value's name is the text, or the shortest one that reads as that number.
class ValueNames {
 public:
  ValueNames() = default;
  // In this order. The values are numbers where each of them reads as one.
  explicit ValueNames(std::vector<std::string> names);

  // The values that `add` has been given, sorted: numbers by value where all of them are numbers, else text by bytes.
  ValueNames sorted() const;

  // Adds a value unless it is there.
  void add(std::string_view text);
  // The number of a value; -1: it is not there. Text that is no number is not there where all values are numbers.
  std::int64_t find(std::string_view text) const;

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
