#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ddp::config {

// A text that settings are read from: an experiment file, one --set assignment, or an option that stands for one.
class Source {
 public:
  // `rank` orders the errors of several sources: the file, what it extends, then the assignments.
  static std::shared_ptr<const Source> file(const std::filesystem::path& path, std::string text, int rank);
  static std::shared_ptr<const Source> assignment(int number, std::string text);
  // One that the option `name` of the command line stands for.
  static std::shared_ptr<const Source> option(int number, const std::string& name, std::string text);

  const std::string& label() const { return label_; }
  const std::string& text() const { return text_; }
  // What relative paths in it are relative to.
  const std::filesystem::path& folder() const { return folder_; }
  bool is_file() const { return kind_ == Kind::file; }
  // Did people write its text themselves?
  bool is_shown() const { return kind_ != Kind::option; }
  int rank() const { return rank_; }
  // Line `number`, from 1, without its end; empty where there is no such line.
  std::string_view line(std::uint32_t number) const;

 private:
  enum class Kind { file, assignment, option };
  Source(std::string label, std::filesystem::path folder, std::string text, Kind kind, int rank);

  std::string label_;
  std::filesystem::path folder_;
  std::string text_;
  Kind kind_;
  int rank_;
  std::vector<std::size_t> line_starts_;
};

// Some characters of a source. Line and column count from 1, columns in code points; line 0 is the source
// as a whole: where a key is missing.
struct Place {
  std::shared_ptr<const Source> source = {};
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t width = 1;
};

bool before(const Place& a, const Place& b);

// "experiments/x.toml:3:1", or "--set 2".
std::string where(const Place& place);

// The source line with carets under the place; a long line is clipped around it. Empty for line 0, and of an option.
//      3 | batchsize = 32
//        | ^~~~~~~~~
std::string excerpt(const Place& place);

// Text from outside, fit for a terminal: control characters and what is not UTF-8 shown as "?".
std::string printable(std::string_view text);

// The same in quotes, no more than 60 characters of it.
std::string in_quotes(std::string_view text);

}  // namespace ddp::config
