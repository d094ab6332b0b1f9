#include "tokenize/byte_pair.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "tokenize/bpe.h"
#include "tokenize/pattern.h"
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
// Stands for a blank in the tokens of SentencePiece.
constexpr std::string_view kBlank = "▁";

// Tokens that are found in a text before it is cut into words.
class AddedTokens {
 public:
  struct Added {
    std::string text = {};
    std::int32_t id = 0;
    bool single_word = false, lstrip = false, rstrip = false;
  };

  void add(Added added) {
    if (added.text.empty()) return;
    auto& same = by_first_byte_[static_cast<unsigned char>(added.text[0])];
    const auto shorter = [&](const Added& other) { return other.text.size() < added.text.size(); };
    same.insert(std::find_if(same.begin(), same.end(), shorter), std::move(added));
  }

  // Passes the parts of a text between the tokens to `take_part` and the tokens' ids to `take_id`. The longest token at
  // a place counts, and takes the white space that it strips.
  template <class TakePart, class TakeId>
  void split(std::string_view text, const TakePart& take_part, const TakeId& take_id) const {
    std::size_t done = 0;
    for (std::size_t place = 0; place < text.size();) {
      const Added* const added = at(text.substr(place));
      if (added == nullptr) {
        ++place;
        continue;
      }
      std::size_t begin = place;
      std::size_t end = place + added->text.size();
      place = end;
      if (added->single_word && (is_word(before(text, begin)) || is_word(after(text, end)))) continue;
      while (added->lstrip && begin > done && is_white_part(before(text, begin))) begin -= before(text, begin).size();
      while (added->rstrip && is_white_part(after(text, end))) end += after(text, end).size();
      if (done < begin) take_part(done, text.substr(done, begin - done));
      take_id(added->id);
      done = end;
    }
    if (done < text.size()) take_part(done, text.substr(done));
  }

 private:
  const Added* at(std::string_view text) const {
    const auto& same = by_first_byte_[static_cast<unsigned char>(text[0])];
    const auto found = std::find_if(same.begin(), same.end(), [&](const Added& a) { return text.starts_with(a.text); });
    return found == same.end() ? nullptr : &*found;
  }

  // The character before or after a place; "" at the end.
  static std::string_view before(std::string_view text, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xC0u) == 0x80) {
    }
    return text.substr(begin, end - begin);
  }
  static std::string_view after(std::string_view text, std::size_t begin) {
    std::size_t end = begin;
    if (begin < text.size()) next_code_point(text, end);
    return text.substr(begin, end - begin);
  }
  static bool is_white_part(std::string_view character) {
    std::size_t place = 0;
    return !character.empty() && is_white(next_code_point(character, place));
  }
  static bool is_word(std::string_view character) {
    static const Pattern word("[" + std::string(kWordClass) + R"(\x{200c}\x{200d}])");
    Parts parts(word, character);
    return parts.next() && parts.is_match();
  }

  std::array<std::vector<Added>, 256> by_first_byte_;  // the longest ones first
};

class BytePairTokenizer final : public Tokenizer {
 public:
  explicit BytePairTokenizer(BytePairs files)
      : files_(std::move(files)), steps_(read_steps(files_.json)), merges_(files_.of_gpt2) {
    for (std::size_t id = 0; id < files_.tokens.size(); ++id) {
      const std::string& token = files_.tokens[id];
      if (first_invalid(token) != token.npos) throw std::runtime_error("it has a token that is not UTF-8");
      if (!token.empty() && !ids_.emplace(token, static_cast<std::int32_t>(id)).second) {
        throw std::runtime_error("it has the token " + in_quotes(token) + " twice");
      }
    }
    read_model(files_.json.value("model", Value::object()));
    add_merges();
    size_ = files_.tokens.size();
    for (const Value& added : files_.json.value("added_tokens", Value::array())) add_token(added);
  }

  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(size_); }

  void encode(const Text& text, const TakeIds& take) const override {
    require_utf8(text);
    Encoding encoding(*this, take);
    added_.split(
        text.bytes, [&](std::size_t begin, std::string_view part) { encoding.add_part(part, begin == 0); },
        [&](std::int32_t id) {
          encoding.add({&id, 1});
        });
    encoding.flush();
  }

  std::string decode(std::span<const std::int64_t> ids) const override {
    std::vector<std::string> tokens;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vocab_size()) {
        throw usage_error(std::to_string(id) + " is not an id of the " + std::to_string(vocab_size()) + " tokens");
      }
      const auto added = added_texts_.find(id);
      tokens.push_back(added != added_texts_.end() ? added->second
                       : static_cast<std::size_t>(id) < files_.tokens.size()
                           ? files_.tokens[static_cast<std::size_t>(id)]
                           : "");
      if (tokens.back().empty()) tokens.pop_back();
    }
    for (const auto& decoder : steps_.decoders) decoder(tokens);
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) text += (i > 0 && steps_.decoders.empty() ? " " : "") + tokens[i];
    return text;
  }

  Value options() const override {
    if (!files_.of_gpt2) return {{"tokens", files_.tokens}, {"merges", files_.merges}, {"json", files_.json}};
    Value merges = Value::array();
    for (std::size_t i = 0; i < files_.merges.size(); i += 2) {
      merges.push_back(files_.merges[i] + " " + files_.merges[i + 1]);
    }
    return {{"tokens", files_.tokens}, {"merges", std::move(merges)}};
  }

 private:
  // The ids of one text.
  class Encoding {
   public:
    Encoding(const BytePairTokenizer& tokenizer, const TakeIds& take) : t_(tokenizer), take_(take) {}

    void add_part(std::string_view part, bool first) {
      std::string text;
      if (!t_.steps_.normalizers.empty()) {
        text = part;
        for (const auto& normalizer : t_.steps_.normalizers) normalizer(text);
        part = text;
      }
      t_.normalized_.split(
          part, [&](std::size_t begin, std::string_view rest) { add_words(0, rest, first && begin == 0); },
          [&](std::int32_t id) {
            add({&id, 1});
          });
    }

    void add(std::span<const std::int32_t> ids) {
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      if (ids_.size() >= kTokensAtOnce) flush();
    }

    void flush() {
      if (!ids_.empty()) take_(ids_);
      ids_.clear();
    }

   private:
    void add_words(std::size_t step, std::string_view text, bool first) {
      if (text.empty()) return;
      if (step == t_.steps_.pre_tokenizers.size()) return add_word(text);
      t_.steps_.pre_tokenizers[step](
          text, first, [this, step](std::string_view part, bool begins) { add_words(step + 1, part, begins); });
    }

    // No merge crosses the place before a ▁ that follows another character, if no token does: words are short even
    // without a pre_tokenizer.
    void add_word(std::string_view word) {
      while (!word.empty()) {
        std::size_t end = t_.cuts_before_blank_ ? 0 : word.size();
        while (word.substr(end).starts_with(kBlank)) end += kBlank.size();
        end = std::min(word.find(kBlank, end), word.size());
        add_cut_word(word.substr(0, end));
        word.remove_prefix(end);
      }
    }

    void add_cut_word(std::string_view word) {
      if (const auto known = cache_.find(word)) return add(*known);
      t_.encode_word(word, tokens_);
      cache_.add(word, tokens_);
      add(tokens_);
    }

    const BytePairTokenizer& t_;
    const TakeIds& take_;
    WordCache cache_;
    std::vector<std::int32_t> ids_;
    std::vector<std::int32_t> tokens_;
  };

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
    if (model.contains("dropout") && !model.at("dropout").is_null() && model.at("dropout") != 0) {
      throw std::runtime_error("its \"dropout\" is not supported");
    }
    prefix_ = text_in(model, "continuing_subword_prefix", "");
    suffix_ = text_in(model, "end_of_word_suffix", "");
    ignores_merges_ = flag_in(model, "ignore_merges", false);
    fuses_unknown_ = flag_in(model, "fuse_unk", false);
    if (const std::string unknown = text_in(model, "unk_token", ""); !unknown.empty()) unknown_ = id_of(unknown);
    if (!flag_in(model, "byte_fallback", false)) return;
    byte_ids_.emplace();
    for (unsigned byte = 0; byte < 256; ++byte) {
      char token[8];
      std::snprintf(token, sizeof token, "<0x%02X>", byte);
      (*byte_ids_)[byte] = find(token);
    }
  }

  void add_merges() {
    cuts_before_blank_ =
        find(kBlank) != kNoToken && !steps_.byte_level && !ignores_merges_ && prefix_.empty() && suffix_.empty();
    for (std::size_t i = 0; i + 1 < files_.merges.size(); i += 2) {
      const std::string& left = files_.merges[i];
      const std::string& right = files_.merges[i + 1];
      const std::string joined = left + (right.starts_with(prefix_) ? right.substr(prefix_.size()) : right);
      if (!merges_.add({.left = id_of(left), .right = id_of(right)}, id_of(joined))) {
        throw std::runtime_error("it has the merge " + in_quotes(left + " " + right) + " twice");
      }
      std::size_t begin = 0;
      while (std::string_view(joined).substr(begin).starts_with(kBlank)) begin += kBlank.size();
      if (joined.find(kBlank, begin) != joined.npos) cuts_before_blank_ = false;
    }
  }

  // {"id": 3, "content": "<s>", "special": true, …}. The package tokenizers numbers tokens that are not in the
  // vocabulary itself, from its size on, whatever their "id".
  void add_token(const Value& json) {
    const std::string text = text_in(json, "content", "");
    const std::int64_t given = config::as_count(json.is_object() ? json.value("id", Value()) : json);
    if (text.empty() || first_invalid(text) != text.npos) throw std::runtime_error("an added token has no \"content\"");
    const std::int32_t known = find(text);
    const std::int64_t id = known != kNoToken ? known : std::max(next_added_, static_cast<std::int64_t>(ids_.size()));
    if (id != given || !added_texts_.emplace(id, text).second) {
      throw std::runtime_error("the added token " + in_quotes(text) + " has the id " + std::to_string(given) +
                               ", and its place is " + std::to_string(id));
    }
    next_added_ = std::max(next_added_, id + 1);
    size_ = std::max(size_, static_cast<std::size_t>(id) + 1);
    const bool special = flag_in(json, "special", false);
    const bool normalized = flag_in(json, "normalized", !special);
    AddedTokens::Added added{.text = text,
                             .id = static_cast<std::int32_t>(id),
                             .single_word = flag_in(json, "single_word", false),
                             .lstrip = flag_in(json, "lstrip", false),
                             .rstrip = flag_in(json, "rstrip", false)};
    if (normalized) {
      for (const auto& normalizer : steps_.normalizers) normalizer(added.text);
    }
    (normalized ? normalized_ : added_).add(std::move(added));
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
      if (begin > 0) character.insert(0, prefix_);
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
    merges_.apply(tokens);
  }

  bool add_bytes(std::string_view character, std::vector<std::int32_t>& tokens) const {
    if (!byte_ids_) return false;
    const auto id = [&](char byte) { return (*byte_ids_)[static_cast<unsigned char>(byte)]; };
    if (std::any_of(character.begin(), character.end(), [&](char c) { return id(c) == kNoToken; })) return false;
    std::transform(character.begin(), character.end(), std::back_inserter(tokens), id);
    return true;
  }

  const BytePairs files_;
  const Steps steps_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of the files' tokens
  std::string prefix_, suffix_;  // of all characters of a word but the first, and of the last
  bool ignores_merges_ = false;  // for a word that is a token
  bool fuses_unknown_ = false;
  std::int32_t unknown_ = kNoToken;
  std::optional<std::array<std::int32_t, 256>> byte_ids_;
  Merges merges_;
  bool cuts_before_blank_ = false;
  AddedTokens added_, normalized_;  // found in the text, and in the normalized text
  std::unordered_map<std::int64_t, std::string> added_texts_;
  std::int64_t next_added_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

std::vector<std::string> tokens_by_id(const nlohmann::json& vocabulary) {
  if (!vocabulary.is_object() || vocabulary.empty())
    throw std::runtime_error("its vocabulary is not an object of tokens");
  // Some vocabularies leave ids out.
  const auto most = static_cast<std::int64_t>(2 * vocabulary.size() + kMostIdsLeftOut);
  std::vector<std::string> tokens;
  for (const auto& [token, id] : vocabulary.items()) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < static_cast<std::uint64_t>(most);
    if (!fits) {
      throw std::runtime_error("the id of " + in_quotes(token) + " is not one of 0 to " + std::to_string(most - 1));
    }
    const auto place = id.get<std::size_t>();
    if (place >= tokens.size()) tokens.resize(place + 1);
    if (!tokens[place].empty()) throw std::runtime_error("two tokens have the id " + std::to_string(place));
    tokens[place] = token;
  }
  return tokens;
}

bool add_merge(std::string_view line, std::vector<std::string>& merges) {
  const std::size_t blank = line.find(' ');
  const bool two =
      blank != 0 && blank != line.npos && blank + 1 < line.size() && line.find(' ', blank + 1) == line.npos;
  if (!two || first_invalid(line) != line.npos) return false;
  merges.emplace_back(line.substr(0, blank));
  merges.emplace_back(line.substr(blank + 1));
  return true;
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
