#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "format/table.h"

namespace ddp::tables {

// The first 40 bytes of an untrusted text, safe for a terminal.
std::string shortened(std::string_view text);

// The same in quotes.
std::string shown(std::string_view text);

// Returns `"abc" is not a number`.
std::string not_a_number(std::string_view cell);

// Collects up to 20 mistakes in a table, to report them together.
class Mistakes {
 public:
  // `unit` precedes the number of each mistake: "" for the lines of a text file, "row " for a file without lines.
  explicit Mistakes(const std::filesystem::path& file, std::string unit = "") : file_(file), unit_(std::move(unit)) {}

  // `line` counts from 1.
  void add(std::int64_t line, const std::string& what);
  void add(std::int64_t line, const format::WantedColumn& column, const std::string& what);

  bool empty() const { return count_ == 0; }
  bool full() const { return count_ >= kMost; }
  // Returns one error with all mistakes, in the order in which they were added.
  Error error() const;

 private:
  static constexpr int kMost = 20;

  const std::filesystem::path file_;
  const std::string unit_;
  std::string text_;
  std::string text_column_;  // a number column with a cell that is not a number
  int count_ = 0;
};

}  // namespace ddp::tables
