#include "tokenize/byte_pair.h"

#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <queue>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "tokenize/steps.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

using config::in_quotes;
using config::Value;

constexpr std::int32_t kNoToken = -1;
constexpr std::size_t kMostIdsLeftOut = 1000;
// GPT-2's own files have about 1 MB and 0.5 MB, tokenizer.json up to 20 MB.
constexpr std::uint64_t kLargestTokenizerFile = 256u << 20;
constexpr std::size_t kTokensAtOnce = 1 << 12;
constexpr std::size_t kMostCachedWords = 1 << 20;
constexpr std::size_t kLongestCachedWord = 64;
// Stands for a blank in the tokens of SentencePiece.
constexpr std::string_view kMark = "▁";

// Of a pair of tokens. The key has both.
struct Merge {
  std::int32_t rank = 0;
  std::int32_t joined = 0;
};
using Merges = std::unordered_map<std::uint64_t, Merge>;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t(std::uint32_t(left)) << 32 | std::uint32_t(right);
}

// Joins the tokens of a word pair by pair, in place and in O(n log n): byte pair encoding (Sennrich et al. 2016). The
// pair with the lowest rank is joined first, of several the leftmost.
void join_pairs(const Merges& merges, std::vector<std::int32_t>& tokens) {
  // A linked list of tokens, and a heap of pairs that can be joined: rank, place of the left token.
  const auto size = static_cast<std::int32_t>(tokens.size());
  std::vector<std::int32_t> next(tokens.size()), previous(tokens.size());
  using Candidate = std::pair<std::int32_t, std::int32_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> pairs;
  const auto merge_at = [&](std::int32_t place) -> const Merge* {
    if (tokens[place] == kNoToken || next[place] == size) return nullptr;
    const auto found = merges.find(pair_key(tokens[place], tokens[next[place]]));
    return found == merges.end() ? nullptr : &found->second;
  };
  const auto note = [&](std::int32_t place) {
    if (const Merge* const merge = merge_at(place)) pairs.emplace(merge->rank, place);
  };
  for (std::int32_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    note(i);
  }
  while (!pairs.empty()) {
    const auto [rank, place] = pairs.top();
    pairs.pop();
    // One of its tokens may have been joined with another token.
    const Merge* const merge = merge_at(place);
    if (merge == nullptr || merge->rank != rank) continue;
    const std::int32_t right = next[place];
    tokens[place] = merge->joined;
    tokens[right] = kNoToken;
    next[place] = next[right];
    if (next[place] < size) previous[next[place]] = place;
    note(place);
    if (previous[place] >= 0) note(previous[place]);
  }
  std::erase(tokens, kNoToken);
}

// Most words of a text repeat.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
};
using WordCache = std::unordered_map<std::string, std::vector<std::int32_t>, WordHash, std::equal_to<>>;

// Is it white space (Unicode's White_Space)?
bool is_white(char32_t point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(point));
  return (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) || (point >= 9 && point <= 13) ||
         point == 0x85;
}

// Tokens that are found in a text before it is cut into words.
struct AddedTokens {
  struct Added {
    std::string text = {};
    std::int32_t id = 0;
    bool lstrip = false, rstrip = false;
  };

  void add(Added added) {
    if (added.text.empty()) return;
    auto& same = by_first_byte[static_cast<unsigned char>(added.text[0])];
    const auto shorter = [&](const Added& other) { return other.text.size() < added.text.size(); };
    same.insert(std::find_if(same.begin(), same.end(), shorter), std::move(added));
  }

  // Passes the parts of a text between the tokens to `take_part` and the tokens' ids to `take_id`. The longest token at
  // a place counts, and takes the white space that it strips.
  template <class TakePart, class TakeId>
  void split(std::string_view text, const TakePart& take_part, const TakeId& take_id) const {
    std::size_t done = 0;
    for (std::size_t place = 0; place < text.size();) {
      const auto& same = by_first_byte[static_cast<unsigned char>(text[place])];
      const auto found = std::find_if(same.begin(), same.end(),
                                      [&](const Added& added) { return text.substr(place).starts_with(added.text); });
      if (found == same.end()) {
        ++place;
        continue;
      }
      std::size_t begin = found->lstrip ? std::min(done, place) : place;
      for (std::size_t i = begin; i < place;) {
        if (!is_white(next_code_point(text, i))) begin = i;
      }
      if (done < begin) take_part(done, text.substr(done, begin - done));
      take_id(found->id);
      done = place += found->text.size();
      for (std::size_t i = done; found->rstrip && i < text.size() && is_white(next_code_point(text, i));) done = i;
    }
    if (done < text.size()) take_part(done, text.substr(done));
  }

  std::array<std::vector<Added>, 256> by_first_byte;  // the longest ones first
};

class BytePairTokenizer final : public Tokenizer {
 public:
  explicit BytePairTokenizer(BytePairs files)
      : files_(std::move(files)), steps_(read_steps(json())), texts_(files_.tokens) {
    for (std::size_t id = 0; id < files_.tokens.size(); ++id) {
      const std::string& token = files_.tokens[id];
      if (first_invalid(token) != token.npos) throw std::runtime_error("it has a token that is not UTF-8");
      if (!token.empty() && !ids_.emplace(token, static_cast<std::int32_t>(id)).second) {
        throw std::runtime_error("it has the token " + in_quotes(token) + " twice");
      }
    }
    read_model(json().value("model", Value::object()));
    for (const std::string& merge : files_.merges) add_merge(merge);
    for (const Value& added : json().value("added_tokens", Value::array())) add_token(added);
  }

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(texts_.size()); }

  void encode(const Text& text, const TakeIds& take) const override {
    require_utf8(text);
    WordCache cache;
    std::vector<std::int32_t> ids, tokens;
    const auto add = [&](std::span<const std::int32_t> some) {
      ids.insert(ids.end(), some.begin(), some.end());
      if (ids.size() < kTokensAtOnce) return;
      take(ids);
      ids.clear();
    };
    const auto add_word = [&](std::string_view word) {
      if (const auto known = cache.find(word); known != cache.end()) return add(known->second);
      encode_word(word, tokens);
      if (cache.size() < kMostCachedWords && word.size() <= kLongestCachedWord) cache.emplace(word, tokens);
      add(tokens);
    };
    const auto add_id = [&](std::int32_t id) { add({&id, 1}); };
    const std::function<void(std::size_t, std::string_view, bool)> add_words = [&](std::size_t step,
                                                                                   std::string_view part, bool first) {
      if (part.empty()) return;
      if (step == steps_.pre_tokenizers.size()) return cut_at_marks(part, add_word);
      steps_.pre_tokenizers[step](part, first,
                                  [&, step](std::string_view word, bool begins) { add_words(step + 1, word, begins); });
    };
    const auto add_part = [&](std::size_t begin, std::string_view part) {
      std::string changed(steps_.normalizers.empty() ? "" : part);
      for (const auto& normalizer : steps_.normalizers) normalizer(changed);
      normalized_.split(
          steps_.normalizers.empty() ? part : changed,
          [&](std::size_t place, std::string_view rest) { add_words(0, rest, begin + place == 0); }, add_id);
    };
    added_.split(text.bytes, add_part, add_id);
    if (!ids.empty()) take(ids);
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::vector<std::string> tokens;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vocab_size()) {
        throw usage_error(std::to_string(id) + " is not an id of the " + std::to_string(vocab_size()) + " tokens");
      }
      const auto& text = texts_[static_cast<std::size_t>(id)];
      if (!text.empty()) tokens.emplace_back(text);
    }
    for (const auto& decoder : steps_.decoders) decoder(tokens);
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) text += (i > 0 && steps_.decoders.empty() ? " " : "") + tokens[i];
    return text;
  }

  Value options() const override {
    Value kept = {{"tokens", files_.tokens}, {"merges", files_.merges}};
    if (!files_.json.is_null()) kept["json"] = files_.json;
    return kept;
  }

 private:
  const Value& json() const {
    static const Value of_gpt2 = {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                                  {"decoder", {{"type", "ByteLevel"}}}};
    return files_.json.is_null() ? of_gpt2 : files_.json;
  }

  std::int32_t find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? kNoToken : found->second;
  }

  std::int32_t id_of(std::string_view token) const {
    const std::int32_t id = find(token);
    if (id == kNoToken) throw std::runtime_error("it lacks the token " + in_quotes(token));
    return id;
  }

  void read_model(const Value& model) {
    for (const char* const key : {"dropout", "continuing_subword_prefix"}) {
      const Value value = model.is_object() ? model.value(key, Value()) : model;
      if (!value.is_null() && value != 0 && value != "")
        throw std::runtime_error("its " + in_quotes(key) + " is not supported");
    }
    suffix_ = member_or<std::string>(model, "end_of_word_suffix", "");
    ignores_merges_ = member_or(model, "ignore_merges", false);
    fuses_unknown_ = member_or(model, "fuse_unk", false);
    const auto unknown = member_or<std::string>(model, "unk_token", "");
    if (!unknown.empty()) unknown_ = id_of(unknown);
    const bool has_bytes = member_or(model, "byte_fallback", false);
    for (unsigned byte = 0; byte < 256; ++byte) {
      char token[8];
      std::snprintf(token, sizeof token, "<0x%02X>", byte);
      byte_ids_[byte] = has_bytes ? find(token) : kNoToken;
    }
    cuts_at_marks_ = find(kMark) != kNoToken && !steps_.byte_level && !ignores_merges_ && suffix_.empty();
  }

  void add_merge(const std::string& merge) {
    if (!is_merge(merge)) throw std::runtime_error("it has the merge " + in_quotes(merge) + ", which is invalid");
    const std::size_t blank = merge.find(' ');
    const std::string left = merge.substr(0, blank);
    const std::string right = merge.substr(blank + 1);
    const Merge made{.rank = static_cast<std::int32_t>(merges_.size()), .joined = id_of(left + right)};
    if (!merges_.emplace(pair_key(id_of(left), id_of(right)), made).second) {
      throw std::runtime_error("it has the merge " + in_quotes(merge) + " twice");
    }
    if ((left + right).find(kMark, marks_at(left + right)) != std::string::npos) cuts_at_marks_ = false;
  }

  // {"id": 3, "content": "<s>", "special": true, …}. The package tokenizers numbers tokens that are not in the
  // vocabulary itself, from its size on, whatever their "id".
  void add_token(const Value& json) {
    AddedTokens::Added added{.text = member_or<std::string>(json, "content", ""),
                             .lstrip = member_or(json, "lstrip", false),
                             .rstrip = member_or(json, "rstrip", false)};
    const std::int64_t given = config::as_count(json.is_object() ? json.value("id", Value()) : json);
    if (added.text.empty() || first_invalid(added.text) != std::string::npos) {
      throw std::runtime_error("an added token has no \"content\"");
    }
    if (member_or(json, "single_word", false)) {
      throw std::runtime_error("the added token " + in_quotes(added.text) +
                               " has \"single_word\", which is not supported");
    }
    added.id = find(added.text);
    if (added.id == kNoToken) added.id = static_cast<std::int32_t>(std::max(next_added_, ids_.size()));
    if (added.id != given) {
      throw std::runtime_error("the added token " + in_quotes(added.text) + " has the id " + std::to_string(given) +
                               ", and its place is " + std::to_string(added.id));
    }
    next_added_ = std::max(next_added_, static_cast<std::size_t>(added.id) + 1);
    texts_.resize(std::max(texts_.size(), next_added_));
    texts_[static_cast<std::size_t>(added.id)] = added.text;
    const bool normalized = member_or(json, "normalized", !member_or(json, "special", false));
    for (std::size_t i = 0; normalized && i < steps_.normalizers.size(); ++i) steps_.normalizers[i](added.text);
    (normalized ? normalized_ : added_).add(std::move(added));
  }

  // The length of the marks at the beginning of a text.
  static std::size_t marks_at(std::string_view text) {
    std::size_t end = 0;
    while (text.substr(end).starts_with(kMark)) end += kMark.size();
    return end;
  }

  // No merge crosses the place before a mark that follows another character, if no token does: words are short even
  // without a pre_tokenizer.
  template <class AddWord>
  void cut_at_marks(std::string_view text, const AddWord& add_word) const {
    while (!text.empty()) {
      const std::size_t end = cuts_at_marks_ ? std::min(text.find(kMark, marks_at(text)), text.size()) : text.size();
      add_word(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  // A character without a token becomes the tokens of its bytes, or the token for unknown characters, or nothing.
  void encode_word(std::string_view word, std::vector<std::int32_t>& tokens) const {
    const std::string spelled = steps_.byte_level ? in_alphabet(word) : std::string(word);
    tokens.clear();
    if (const std::int32_t whole = ignores_merges_ ? find(spelled) : kNoToken; whole != kNoToken) {
      return tokens.push_back(whole);
    }
    bool unknown = false;  // the token for unknown characters is still to be added
    const auto add_unknown = [&] {
      if (std::exchange(unknown, false)) tokens.push_back(unknown_);
    };
    for (std::size_t place = 0; place < spelled.size();) {
      const std::size_t begin = place;
      next_code_point(spelled, place);
      std::string character = spelled.substr(begin, place - begin);
      if (place == spelled.size()) character += suffix_;
      if (const std::int32_t id = find(character); id != kNoToken) {
        add_unknown();
        tokens.push_back(id);
      } else if (!add_bytes(character, tokens) && unknown_ != kNoToken) {
        if (!fuses_unknown_) add_unknown();
        unknown = true;
      }
    }
    add_unknown();
    join_pairs(merges_, tokens);
  }

  bool add_bytes(std::string_view character, std::vector<std::int32_t>& tokens) const {
    const auto id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (std::any_of(character.begin(), character.end(), [&](char c) { return id(c) == kNoToken; })) return false;
    std::transform(character.begin(), character.end(), std::back_inserter(tokens), id);
    return true;
  }

  const BytePairs files_;
  const Steps steps_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of the files' tokens
  std::vector<std::string> texts_;                          // of all tokens; index: the id
  std::string suffix_;                                      // of the last character of a word
  bool ignores_merges_ = false;                             // for a word that is a token
  bool fuses_unknown_ = false;
  std::int32_t unknown_ = kNoToken;
  std::array<std::int32_t, 256> byte_ids_{};
  Merges merges_;
  bool cuts_at_marks_ = false;
  AddedTokens added_, normalized_;  // found in the text, and in the normalized text
  std::size_t next_added_ = 0;
};

}  // namespace

std::vector<std::string> tokens_by_id(const nlohmann::json& vocabulary) {
  if (!vocabulary.is_object() || vocabulary.empty()) {
    throw std::runtime_error("its vocabulary is not an object of tokens");
  }
  // Some vocabularies leave ids out.
  const std::size_t most = 2 * vocabulary.size() + kMostIdsLeftOut;
  std::vector<std::string> tokens;
  for (const auto& [token, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= most) {
      throw std::runtime_error("the id of " + in_quotes(token) + " is not one of 0 to " + std::to_string(most - 1));
    }
    const auto place = id.get<std::size_t>();
    if (place >= tokens.size()) tokens.resize(place + 1);
    if (!tokens[place].empty()) throw std::runtime_error("two tokens have the id " + std::to_string(place));
    tokens[place] = token;
  }
  return tokens;
}

bool is_merge(std::string_view line) {
  const std::size_t blank = line.find(' ');
  return blank != 0 && blank < line.size() - 1 && line.find(' ', blank + 1) == line.npos &&
         first_invalid(line) == line.npos;
}

std::string read_tokenizer_file(const std::filesystem::path& file) try {
  return record::read_text(file, kLargestTokenizerFile);
} catch (const Error& error) {
  throw usage_error(error.summary(), file.string(),
                    "give \"char\", \"byte\", a tokenizer.json, or a folder with GPT-2's vocab.json and merges.txt");
}

std::unique_ptr<Tokenizer> make_byte_pairs(BytePairs files) {
  return std::make_unique<BytePairTokenizer>(std::move(files));
}

}  // namespace ddp::tokenize
