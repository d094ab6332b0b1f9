#pragma once

#include <memory>
#include <string_view>

namespace ddp::tokenize {

// Cuts a text into the words that GPT-2 encodes one by one, by its regular expression: contractions, letters, numbers
// and other characters, each with the blank before them, and white space (openai/gpt-2, src/encoder.py). Together they
// are the text. Letters and numbers are Unicode's general categories L and N as PCRE2 knows them.
class Words {
 public:
  // `text` is valid UTF-8 and outlives this.
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
