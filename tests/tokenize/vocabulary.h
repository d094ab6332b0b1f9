#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scratch_folder.h"
#include "tokenize/tokenizer.h"

namespace ddp::tokenize {

// GPT-2's alphabet as a table of texts: from each byte to its character.
std::vector<std::string> alphabet();

// A folder with vocab.json and merges.txt, removed on destruction.
class TokenizerFolder : public ScratchFolder {
 public:
  TokenizerFolder() = default;
  // A few hundred tokens: the alphabet and the merges of a byte pair encoding trained on a text.
  explicit TokenizerFolder(const std::string& training_text);
  // Writes both files: the tokens of the alphabet, then the tokens of the merges.
  void write_merges(const std::vector<std::pair<std::string, std::string>>& merges);
  const std::vector<std::pair<std::string, std::string>>& merges() const { return merges_; }
  const std::map<std::string, int>& ids() const { return ids_; }

 private:
  std::vector<std::pair<std::string, std::string>> merges_;
  std::map<std::string, int> ids_;
};

// A text from one source.
inline Text text_of(std::string_view bytes) { return {.bytes = bytes, .sources = {{.name = "a.txt"}}}; }

inline std::vector<std::int64_t> ids_of(const Tokenizer& tokenizer, std::string_view bytes) {
  return encode_all(tokenizer, text_of(bytes));
}

}  // namespace ddp::tokenize
