#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ddp::tokenize {

// A regular expression in the syntax of Oniguruma, which runs those of tokenizer.json, as far as PCRE2 gives the same
// matches: \s, \w and \d are Unicode's, ^ and $ match at lines.
class Pattern {
 public:
  // Throws std::runtime_error that names the part of the expression that has no equal in PCRE2.
  explicit Pattern(std::string_view regex);
  // Matches the text itself.
  static Pattern literal(std::string_view text);

 private:
  friend class Parts;
  std::shared_ptr<const void> code_;  // PCRE2's pcre2_code
};

// The matches of a pattern in a text, from left to right, and the parts between them. Concatenated, they are the text.
// An empty match counts, unless it follows a match at once.
class Parts {
 public:
  // `text` must be valid UTF-8; it and the pattern must outlive this object.
  Parts(const Pattern& pattern, std::string_view text);

  // Moves to the next part; false at the end.
  bool next();
  bool is_match() const { return is_match_; }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  std::string_view text() const { return text_.substr(begin_, end_ - begin_); }

 private:
  bool find();

  const Pattern& pattern_;
  const std::string_view text_;
  const std::shared_ptr<void> match_;  // PCRE2's pcre2_match_data
  std::shared_ptr<void> limits_;       // PCRE2's pcre2_match_context; null: the usual ones
  std::size_t begin_ = 0, end_ = 0;
  std::size_t search_ = 0;                                      // where the next search begins
  std::optional<std::size_t> last_end_;                         // of the last match that was found
  std::optional<std::pair<std::size_t, std::size_t>> waiting_;  // the match after the present part
  bool is_match_ = false;
};

// Is it white space (Unicode's White_Space)?
bool is_white(char32_t point);

// Unicode's word characters, for a class: letters, marks, decimal numbers and connectors, and the joiners.
inline constexpr const char* kWordClass =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

}  // namespace ddp::tokenize
