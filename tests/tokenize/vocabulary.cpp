#include "vocabulary.h"

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

constexpr int kTrainedMerges = 400;

// The words of a text, split at blanks, each with the blank before it, as symbols of the alphabet.
std::vector<std::vector<std::string>> symbols_of(const std::string& text) {
  std::vector<std::vector<std::string>> words;
  const std::vector<std::string> of_byte = alphabet();
  for (const char c : text) {
    if (words.empty() || c == ' ' || c == '\n') words.emplace_back();
    words.back().push_back(of_byte[static_cast<unsigned char>(c)]);
  }
  return words;
}

void join(std::vector<std::string>& word, const std::pair<std::string, std::string>& pair) {
  for (std::size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] != pair.first || word[i + 1] != pair.second) continue;
    word[i] += word[i + 1];
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

std::vector<std::pair<std::string, std::string>> train(const std::string& text) {
  auto words = symbols_of(text);
  std::vector<std::pair<std::string, std::string>> merges;
  while (merges.size() < kTrainedMerges) {
    std::map<std::pair<std::string, std::string>, int> counts;
    for (const auto& word : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end() || most->second < 2) break;
    merges.push_back(most->first);
    for (auto& word : words) join(word, merges.back());
  }
  return merges;
}

}  // namespace

std::vector<std::string> alphabet() {
  std::vector<std::string> characters(256);
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    append_utf8(printed ? byte : next++, characters[byte]);
  }
  return characters;
}

TokenizerFolder::TokenizerFolder(const std::string& training_text) { write_merges(train(training_text)); }

void TokenizerFolder::write_merges(const std::vector<std::pair<std::string, std::string>>& merges) {
  merges_ = merges;
  ids_.clear();
  for (const std::string& character : alphabet()) ids_.emplace(character, static_cast<int>(ids_.size()));
  std::string lines = "#version: 0.2\n";
  for (const auto& [left, right] : merges) {
    ids_.emplace(left + right, static_cast<int>(ids_.size()));
    lines += left + " " + right + "\n";
  }
  write("vocab.json", nlohmann::json(ids_).dump());
  write("merges.txt", lines);
}

}  // namespace ddp::tokenize
