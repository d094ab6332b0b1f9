#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace ddp::tokenize {

// A regular expression in the syntax of Oniguruma, which runs those of tokenizer.json, as far as known files use it and
// PCRE2 gives the same matches: \s and \d are Unicode's, ^ and $ match at lines.
class Pattern {
 public:
  // Throws std::runtime_error that names the part of the expression that is not supported.
  explicit Pattern(std::string_view regex);

  // Passes the matches in a text in UTF-8, from left to right, and the parts between them. Concatenated, they are the
  // text. An empty match counts, unless it follows a match at once. Throws ddp::Error (usage).
  using Take = std::function<void(std::string_view part, bool is_match)>;
  void cut(std::string_view text, const Take& take) const;

 private:
  std::shared_ptr<const void> code_;  // PCRE2's pcre2_code
};

}  // namespace ddp::tokenize
