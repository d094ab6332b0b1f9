#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ddp::tokenize {

// GPT-2's alphabet as a table of texts: byte to its character.
std::vector<std::string> alphabet();

// A folder with vocab.json and merges.txt, until it goes.
class TokenizerFolder {
 public:
  TokenizerFolder();
  // Of the alphabet and the merges that training byte pair encoding on a text gives, a few hundred.
  explicit TokenizerFolder(const std::string& training_text);
  ~TokenizerFolder();
  TokenizerFolder(const TokenizerFolder&) = delete;
  TokenizerFolder& operator=(const TokenizerFolder&) = delete;

  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  // Writes both files: the alphabet's tokens, then those that the merges make.
  void write_merges(const std::vector<std::pair<std::string, std::string>>& merges);
  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::pair<std::string, std::string>>& merges() const { return merges_; }
  const std::map<std::string, int>& ids() const { return ids_; }

 private:
  std::filesystem::path path_;
  std::vector<std::pair<std::string, std::string>> merges_;
  std::map<std::string, int> ids_;
};

}  // namespace ddp::tokenize
