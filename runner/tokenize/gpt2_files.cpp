#include "tokenize/gpt2_files.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/input_file.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace fs = std::filesystem;
namespace {

// GPT-2's own files have about 1 MB and 0.5 MB.
constexpr std::uint64_t kLargestTokenizerFile = 256u << 20;
constexpr std::int64_t kMostTokens = 1 << 24;
constexpr const char* kVersionLine = "#version";

std::string read_tokenizer_file(const fs::path& file) try {
  const record::InputFile in(file);
  if (in.size() > kLargestTokenizerFile) throw usage_error("is too large for a tokenizer's file", file.string());
  std::string text(in.size(), '\0');
  in.read(0, text.data(), text.size());
  return text;
} catch (const Error& error) {
  throw usage_error(error.summary(), file.string(),
                    "give \"char\", \"byte\", or a folder with GPT-2's vocab.json and merges.txt");
}

// Returns the tokens in the order of their ids. vocab.json is an object {"token": id, …}.
std::vector<std::string> read_vocabulary(const std::string& text) {
  const nlohmann::json json = config::parse_json(text);
  if (!json.is_object() || json.empty()) throw std::runtime_error("it is not an object of tokens");
  const auto count = static_cast<std::int64_t>(json.size());
  if (count > kMostTokens) throw std::runtime_error("it has too many tokens");
  std::vector<std::string> tokens(json.size());
  std::vector<bool> seen(json.size());
  for (const auto& [token, id] : json.items()) {
    if (token.empty()) throw std::runtime_error("it has an empty token");
    // Distinct ids below the number of tokens cover the whole range.
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= json.size()) {
      throw std::runtime_error("the id of " + config::in_quotes(token) + " is not one of 0 to " +
                               std::to_string(count - 1));
    }
    const auto place = id.get<std::size_t>();
    if (seen[place]) throw std::runtime_error("two tokens have the id " + std::to_string(place));
    seen[place] = true;
    tokens[place] = token;
  }
  return tokens;
}

std::vector<std::string> read_merges(const std::string& text, const fs::path& file) {
  std::vector<std::string> merges;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with(kVersionLine))) continue;
    const std::size_t blank = line.find(' ');
    const bool two =
        blank != 0 && blank != line.npos && blank + 1 < line.size() && line.find(' ', blank + 1) == line.npos;
    if (!two || first_invalid(line) != line.npos) {
      throw usage_error("is not a merge of two tokens, with a blank between them",
                        file.string() + ":" + std::to_string(number));
    }
    merges.push_back(std::move(line));
  }
  return merges;
}

std::array<char32_t, 256> make_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    alphabet[byte] = printed ? byte : next++;
  }
  return alphabet;
}

std::map<char32_t, char> make_bytes() {
  std::map<char32_t, char> bytes;
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[gpt2_alphabet()[byte]] = static_cast<char>(byte);
  return bytes;
}

}  // namespace

Gpt2Vocabulary read_gpt2_files(const fs::path& folder) {
  const fs::path tokens = folder / "vocab.json";
  const fs::path merges = folder / "merges.txt";
  const std::string text = read_tokenizer_file(tokens);
  Gpt2Vocabulary vocabulary;
  try {
    vocabulary.tokens = read_vocabulary(text);
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a vocabulary: ") + error.what(), tokens.string());
  }
  vocabulary.merges = read_merges(read_tokenizer_file(merges), merges);
  return vocabulary;
}

const std::array<char32_t, 256>& gpt2_alphabet() {
  static const std::array<char32_t, 256> alphabet = make_alphabet();
  return alphabet;
}

std::string bytes_of_token(std::string_view token) {
  static const std::map<char32_t, char> bytes = make_bytes();
  std::string text;
  for (std::size_t place = 0; place < token.size();) {
    const char32_t point = next_code_point(token, place);
    const auto byte = bytes.find(point);
    if (byte == bytes.end()) {
      append_utf8(point, text);
    } else {
      text.push_back(byte->second);
    }
  }
  return text;
}

}  // namespace ddp::tokenize
