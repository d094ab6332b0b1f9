#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// The first 40 bytes of a text from outside, fit for a terminal.
std::string shortened(std::string_view text);

// The same in quotes.
std::string shown(std::string_view text);

// "abc" is not a number
std::string not_a_number(std::string_view cell);

// Collects the mistakes in a table, so that up to 20 are told at once.
class Mistakes {
 public:
  // `unit`: what is counted before each mistake: "" (the lines of a text file) or "row " (where a file has no lines).
  explicit Mistakes(const std::filesystem::path& file, std::string unit = "") : file_(file), unit_(std::move(unit)) {}

  // `line`: from 1.
  void add(std::int64_t line, const std::string& what);
  void add(std::int64_t line, const format::WantedColumn& column, const std::string& what);

  bool empty() const { return count_ == 0; }
  bool full() const { return count_ >= kMost; }
  // One error with all of them, in the order in which they were added.
  Error error() const;

 private:
  static constexpr int kMost = 20;

  const std::filesystem::path file_;
  const std::string unit_;
  std::string text_;
  std::string text_column_;  // a column of numbers in which a cell was none
  int count_ = 0;
};

}  // namespace ddp::tables
