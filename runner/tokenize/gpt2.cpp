#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "config/text/source.h"
#include "tokenize/gpt2_files.h"
#include "tokenize/merges.h"
#include "tokenize/tokenizer.h"
#include "tokenize/utf8.h"
#include "tokenize/words.h"

namespace ddp::tokenize {
namespace {

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
