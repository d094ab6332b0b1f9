#pragma once

#include <memory>
#include <string_view>

namespace ddp::tokenize {

// Splits a text into the words that GPT-2 encodes separately, by GPT-2's regular expression: contractions, letters,
// numbers and other characters, each with the blank before it, and white space (openai/gpt-2, src/encoder.py).
// Concatenated, the words are the text. Letters and numbers are Unicode's general categories L and N, as in PCRE2.
class Words {
 public:
  // `text` must be valid UTF-8 and must outlive this object.
  explicit Words(std::string_view text);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  // Returns the next word; an empty one at the end.
  std::string_view next();

 private:
  struct Match;

  const std::string_view text_;
  std::size_t place_ = 0;
  std::unique_ptr<Match> match_;
};

}  // namespace ddp::tokenize
