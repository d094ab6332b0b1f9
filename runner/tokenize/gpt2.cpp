#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "tokenize/bpe.h"
#include "tokenize/tokenizer.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace fs = std::filesystem;

namespace {

// GPT-2's vocabulary as in its files: tokens in the order of their ids, and merges "left right" in the order of their
// ranks. Both are in GPT-2's alphabet, where each byte is one printable character.
struct Gpt2Vocabulary {
  std::vector<std::string> tokens = {};
  std::vector<std::string> merges = {};
};

// GPT-2's own files have about 1 MB and 0.5 MB.
constexpr std::uint64_t kLargestTokenizerFile = 256u << 20;
constexpr std::int64_t kMostTokens = 1 << 24;
constexpr const char* kVersionLine = "#version";

std::string read_tokenizer_file(const fs::path& file) try {
  return record::read_text(file, kLargestTokenizerFile);
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

// Reads vocab.json and merges.txt of a folder. The files are untrusted: their sizes and contents are checked. Throws
// ddp::Error (usage) with the file and, for merges.txt, the line.
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

// GPT-2's alphabet: the code point of each byte. Printable bytes of Latin-1 stand for themselves, the others for code
// points from 256 on (openai/gpt-2, src/encoder.py, bytes_to_unicode).
const std::array<char32_t, 256>& gpt2_alphabet() {
  static const std::array<char32_t, 256> alphabet = [] {
    std::array<char32_t, 256> points{};
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printed = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      points[byte] = printed ? byte : next++;
    }
    return points;
  }();
  return alphabet;
}

// Returns the bytes of a token. Characters outside of the alphabet stay unchanged.
std::string bytes_of_token(std::string_view token) {
  static const std::map<char32_t, char> bytes = [] {
    std::map<char32_t, char> by_point;
    for (std::size_t byte = 0; byte < 256; ++byte) by_point[gpt2_alphabet()[byte]] = static_cast<char>(byte);
    return by_point;
  }();
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

constexpr std::size_t kTokensAtOnce = 1 << 12;

struct Gpt2Options {
  std::string folder;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  void fields(config::Fields& f) {
    f({.name = "folder", .doc = "folder of vocab.json and merges.txt; empty: use tokens and merges"}, folder);
    f({.name = "tokens", .doc = "tokens in the order of their ids, in GPT-2's alphabet"}, tokens);
    f({.name = "merges", .doc = "merges \"left right\" in the order of their ranks"}, merges);
  }
};

// GPT-2's byte pair encoding. The whole text is ordinary text: "<|endoftext|>" is not a special token, as in nanoGPT's
// encode_ordinary.
class Gpt2Tokenizer final : public Tokenizer {
 public:
  // The name of the vocabulary in errors is `where`.
  Gpt2Tokenizer(Gpt2Vocabulary vocabulary, const std::string& where) : vocabulary_(std::move(vocabulary)) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    for (const std::string& token : vocabulary_.tokens) {
      if (first_invalid(token) != token.npos) throw usage_error("has a token that is not UTF-8", where);
      if (!ids.emplace(token, static_cast<std::int32_t>(ids.size())).second) {
        throw usage_error("has the token " + config::in_quotes(token) + " twice", where);
      }
      bytes_.push_back(bytes_of_token(token));
    }
    const auto id_of = [&](std::string_view token) {
      const auto found = ids.find(token);
      if (found != ids.end()) return found->second;
      throw usage_error("lacks the token " + config::in_quotes(token), where,
                        "give vocab.json and merges.txt of one tokenizer, with a token for each byte");
    };
    for (std::size_t byte = 0; byte < first_ids_.size(); ++byte) {
      std::string token;
      append_utf8(gpt2_alphabet()[byte], token);
      first_ids_[byte] = id_of(token);
    }
    for (const std::string& merge : vocabulary_.merges) add_merge(merge, id_of, where);
  }

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(bytes_.size()); }

  void encode(const Text& text, const TakeIds& take) const override {
    require_utf8(text);
    WordCache cache;
    Words words(text.bytes);
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> tokens;
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (const auto known = cache.find(word)) {
        ids.insert(ids.end(), known->begin(), known->end());
      } else {
        encode_word(word, tokens);
        cache.add(word, tokens);
        ids.insert(ids.end(), tokens.begin(), tokens.end());
      }
      if (ids.size() < kTokensAtOnce) continue;
      take(ids);
      ids.clear();
    }
    if (!ids.empty()) take(ids);
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vocab_size()) {
        throw usage_error(std::to_string(id) + " is not an id of the " + std::to_string(vocab_size()) + " tokens");
      }
      text += bytes_[static_cast<std::size_t>(id)];
    }
    return text;
  }

  config::Value options() const override { return {{"tokens", vocabulary_.tokens}, {"merges", vocabulary_.merges}}; }

 private:
  template <class IdOf>
  void add_merge(const std::string& merge, const IdOf& id_of, const std::string& where) {
    const std::size_t blank = merge.find(' ');
    if (blank == merge.npos)
      throw usage_error("has the merge " + config::in_quotes(merge) + ", which is invalid", where);
    const std::string left = merge.substr(0, blank);
    const std::string right = merge.substr(blank + 1);
    if (!merges_.add({.left = id_of(left), .right = id_of(right)}, id_of(left + right))) {
      throw usage_error("has the merge " + config::in_quotes(merge) + " twice", where);
    }
  }

  void encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
    tokens.clear();
    for (const char byte : word) tokens.push_back(first_ids_[static_cast<unsigned char>(byte)]);
    merges_.apply(tokens);
  }

  const Gpt2Vocabulary vocabulary_;
  std::vector<std::string> bytes_;             // index: the token
  std::array<std::int32_t, 256> first_ids_{};  // index: the byte
  Merges merges_;
};

std::unique_ptr<Tokenizer> make_gpt2(const Gpt2Options& options, const Text&) {
  if (!options.folder.empty()) return std::make_unique<Gpt2Tokenizer>(read_gpt2_files(options.folder), options.folder);
  return std::make_unique<Gpt2Tokenizer>(Gpt2Vocabulary{.tokens = options.tokens, .merges = options.merges},
                                         "the tokenizer in preprocessing.json");
}

const bool gpt2_registered =
    tokenizers().add<Gpt2Options>("gpt2", "GPT-2's byte pair encoding", make_gpt2, {{"reads", "folder"}});

}  // namespace

}  // namespace ddp::tokenize
