#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"

namespace ddp::config {

// A text with settings: an experiment file, one --set assignment, or a command-line option that sets one key.
class Source {
 public:
  // `rank` orders the errors of several sources: the file, the files that it extends, then the assignments.
  static std::shared_ptr<const Source> file(const std::filesystem::path& path, std::string text, int rank);
  static std::shared_ptr<const Source> assignment(int number, std::string text);
  // A setting by the command-line option `name`.
  static std::shared_ptr<const Source> option(int number, const std::string& name, std::string text);

  const std::string& label() const { return label_; }
  const std::string& text() const { return text_; }
  // The folder for relative paths in the text.
  const std::filesystem::path& folder() const { return folder_; }
  bool is_file() const { return kind_ == Kind::file; }
  // Returns whether people wrote the text themselves.
  bool is_shown() const { return kind_ != Kind::option; }
  int rank() const { return rank_; }
  // Line `number`, from 1, without its line end; empty if no such line exists.
  std::string_view line(std::uint32_t number) const;
  // Is each character one byte?
  bool is_ascii() const { return is_ascii_; }

 private:
  enum class Kind { file, assignment, option };
  Source(std::string label, std::filesystem::path folder, std::string text, Kind kind, int rank);

  std::string label_;
  std::filesystem::path folder_;
  std::string text_;
  Kind kind_;
  int rank_;
  std::vector<std::size_t> line_starts_;
  bool is_ascii_;
};

// A range of characters of a source. Line and column count from 1, columns in code points. Line 0 stands for the whole
// source, for a missing key.
struct SourceRange {
  std::shared_ptr<const Source> source = {};
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t width = 1;
};

// The characters of the range.
std::string_view text_at(const SourceRange& place);

bool before(const SourceRange& a, const SourceRange& b);

// Was it given on the command line, by --set or an option, and not in a file?
bool is_of_command_line(const SourceRange& place);

// "experiments/x.toml:3:1", or "--set 2".
std::string where(const SourceRange& place);

// The source line with carets under the place; a long line is cut around the place. Empty for line 0 and for
// an option.
//      3 | batchsize = 32
//        | ^~~~~~~~~
std::string excerpt(const SourceRange& place);

// Returns the text without the blanks at its beginning and its end.
std::string_view without_blanks(std::string_view text);

// Makes a text from outside safe for a terminal: control characters and invalid UTF-8 become "?".
std::string printable(std::string_view text);

// The same in quotes, cut to 60 characters.
std::string in_quotes(std::string_view text);

// Collects the mistakes of an experiment, to report all of them in one error.
class Mistakes {
 public:
  void add(SourceRange place, const std::string& what, std::string remedy = "");
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }

  // Returns one error with every mistake in the order of the files; if there are very many, the first ones.
  Error error() const;

 private:
  struct Mistake {
    SourceRange place = {};
    std::string what = {};
    std::string remedy = {};
  };

  std::vector<Mistake> all_;
  std::set<std::tuple<int, std::uint32_t, std::uint32_t, std::string>> known_;  // places and texts that were added
};

}  // namespace ddp::config
