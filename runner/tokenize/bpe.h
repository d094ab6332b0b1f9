#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddp::tokenize {

// Splits a text into the words that GPT-2 encodes separately, by GPT-2's regular expression: contractions, letters,
// numbers and other characters, each with the blank before it, and white space (openai/gpt-2, src/encoder.py).
// Concatenated, the words are the text. Letters and numbers are Unicode's general categories L and N, as in PCRE2.
class Words {
 public:
  // `text` must be valid UTF-8 and must outlive this object.
  explicit Words(std::string_view text);

  // Returns the next word; an empty one at the end.
  std::string_view next();

 private:
  const std::string_view text_;
  std::size_t place_ = 0;
  const std::shared_ptr<void> match_;  // PCRE2's pcre2_match_data
};

// Joins the tokens of a word pair by pair: byte pair encoding (Sennrich et al. 2016) with GPT-2's order of merges
// (openai/gpt-2, src/encoder.py). All occurrences of the pair with the lowest rank are joined from left to right before
// the next pair is considered.
class Merges {
 public:
  struct Pair {
    std::int32_t left = 0;
    std::int32_t right = 0;
  };

  // Adds the merge with the next rank. Returns false if the pair already has a merge.
  bool add(Pair pair, std::int32_t joined);
  std::size_t size() const { return ranks_.size(); }

  // Joins the tokens of a word in place, in O(n log n).
  void apply(std::vector<std::int32_t>& tokens) const;

 private:
  struct Merge {
    std::int32_t rank = 0;
    std::int32_t joined = 0;
  };
  friend class Joining;

  static std::uint64_t key(Pair pair) {
    return std::uint64_t(std::uint32_t(pair.left)) << 32 | std::uint32_t(pair.right);
  }
  const Merge* find(Pair pair) const;

  std::unordered_map<std::uint64_t, Merge> ranks_;
};

// A cache of the tokens of words: most words of a text repeat.
class WordCache {
 public:
  // Returns the tokens of a word; nothing if the word is not cached.
  std::optional<std::span<const std::int32_t>> find(std::string_view word) const;
  // Stores them if the cache has room.
  void add(std::string_view word, std::span<const std::int32_t> tokens);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  std::unordered_map<std::string, Range, Hash, std::equal_to<>> ranges_;
  std::vector<std::int32_t> tokens_;  // of all words, concatenated
};

}  // namespace ddp::tokenize
