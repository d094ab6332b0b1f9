#include "tokenize/bpe.h"

#include <algorithm>

namespace ddp::tokenize {
namespace {

constexpr std::int32_t kGone = -1;
constexpr std::size_t kMostCachedWords = 1 << 20;
constexpr std::size_t kLongestCachedWord = 64;

}  // namespace

bool Merges::add(Pair pair, std::int32_t joined) {
  const auto rank = static_cast<std::int32_t>(ranks_.size());
  return ranks_.emplace(key(pair), Merge{.rank = rank, .joined = joined}).second;
}

const Merges::Merge* Merges::find(Pair pair) const {
  const auto found = ranks_.find(key(pair));
  return found == ranks_.end() ? nullptr : &found->second;
}

// Joins the tokens of one word: a linked list of tokens, and a heap of pairs that can be joined.
class Joining {
 public:
  Joining(const Merges& merges, std::vector<std::int32_t>& tokens)
      : merges_(merges), tokens_(tokens), next_(tokens.size()), previous_(tokens.size()) {
    const auto size = static_cast<std::int32_t>(tokens.size());
    for (std::int32_t i = 0; i < size; ++i) {
      next_[i] = i + 1 < size ? i + 1 : kGone;
      previous_[i] = i - 1;
    }
    for (std::int32_t i = 0; i + 1 < size; ++i) note(i);
    std::swap(heap_, noted_);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

  void run() {
    while (!heap_.empty()) {
      const std::int32_t rank = heap_.front().rank;
      do {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Candidate candidate = heap_.back();
        heap_.pop_back();
        join(candidate);
      } while (merges_.everywhere_ && !heap_.empty() && heap_.front().rank == rank);
      for (const Candidate& candidate : noted_) {
        heap_.push_back(candidate);
        std::push_heap(heap_.begin(), heap_.end(), later);
      }
      noted_.clear();
    }
    std::erase(tokens_, kGone);
  }

 private:
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t place = 0;  // index of the left token
    std::int32_t joined = 0;
  };

  static bool later(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  }

  const Merges::Merge* merge_at(std::int32_t place) const {
    if (tokens_[place] == kGone || next_[place] == kGone) return nullptr;
    return merges_.find({.left = tokens_[place], .right = tokens_[next_[place]]});
  }

  void note(std::int32_t place) {
    if (const auto* merge = merge_at(place)) {
      noted_.push_back({.rank = merge->rank, .place = place, .joined = merge->joined});
    }
  }

  // A candidate may be outdated: one of its tokens may have been joined with another token.
  void join(const Candidate& candidate) {
    const auto* merge = merge_at(candidate.place);
    if (merge == nullptr || merge->rank != candidate.rank) return;
    const std::int32_t right = next_[candidate.place];
    tokens_[candidate.place] = candidate.joined;
    tokens_[right] = kGone;
    next_[candidate.place] = next_[right];
    if (next_[right] != kGone) previous_[next_[right]] = candidate.place;
    note(candidate.place);
    if (previous_[candidate.place] != kGone) note(previous_[candidate.place]);
  }

  const Merges& merges_;
  std::vector<std::int32_t>& tokens_;
  std::vector<std::int32_t> next_;
  std::vector<std::int32_t> previous_;
  std::vector<Candidate> heap_;
  std::vector<Candidate> noted_;  // pairs that resulted from joins
};

void Merges::apply(std::vector<std::int32_t>& tokens) const {
  if (tokens.size() > 1) Joining(*this, tokens).run();
}

std::optional<std::span<const std::int32_t>> WordCache::find(std::string_view word) const {
  const auto found = ranges_.find(word);
  if (found == ranges_.end()) return {};
  return std::span(tokens_).subspan(found->second.begin, found->second.count);
}

void WordCache::add(std::string_view word, std::span<const std::int32_t> tokens) {
  if (ranges_.size() >= kMostCachedWords || word.size() > kLongestCachedWord) return;
  ranges_.emplace(word, Range{.begin = static_cast<std::uint32_t>(tokens_.size()),
                              .count = static_cast<std::uint32_t>(tokens.size())});
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

}  // namespace ddp::tokenize
