#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddp::tokenize {

// Joins the tokens of a word pair by pair: byte pair encoding (Sennrich et al. 2016). The pair with the lowest rank is
// joined first, of several the leftmost.
class Merges {
 public:
  struct Pair {
    std::int32_t left = 0;
    std::int32_t right = 0;
  };

  // With `everywhere`, all occurrences of a pair are joined before the pairs that result from them, which matters if
  // those have lower ranks: GPT-2's order (openai/gpt-2, src/encoder.py).
  explicit Merges(bool everywhere) : everywhere_(everywhere) {}

  // Adds the merge with the next rank. Returns false if the pair already has a merge.
  bool add(Pair pair, std::int32_t joined);

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

  const bool everywhere_;
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
