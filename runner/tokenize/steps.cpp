#include "tokenize/steps.h"

#include <locale.h>
#include <wctype.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tokenize/canonical.h"
#include "tokenize/pattern.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

using config::Value;

// The characters of GPT-2's alphabet in UTF-8. Index: the byte.
const std::array<std::string, 256>& gpt2_alphabet() {
  static const std::array<std::string, 256> alphabet = [] {
    std::array<std::string, 256> characters{};
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printed = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      append_utf8(printed ? byte : next++, characters[byte]);
    }
    return characters;
  }();
  return alphabet;
}

// Returns the bytes of a token; a token with a character outside of the alphabet stays unchanged.
std::string bytes_of_token(const std::string& token) {
  static const std::unordered_map<std::string_view, char> bytes = [] {
    std::unordered_map<std::string_view, char> by_character;
    for (std::size_t byte = 0; byte < 256; ++byte) by_character[gpt2_alphabet()[byte]] = static_cast<char>(byte);
    return by_character;
  }();
  std::string text;
  for (std::size_t place = 0; place < token.size();) {
    const std::size_t begin = place;
    next_code_point(token, place);
    const auto byte = bytes.find(std::string_view(token).substr(begin, place - begin));
    if (byte == bytes.end()) return token;
    text.push_back(byte->second);
  }
  return text;
}

// Adds the step of this type. Returns false if the type is unknown.
using Add = bool (*)(const std::string& type, const Value& json, Steps& steps);

// Reads one step, or with `list` the steps of a Sequence.
void read(const Value& json, const std::string& kind, const char* list, const char* known, Add add, Steps& steps) {
  if (json.is_null()) return;
  const std::string type = text_in(json, "type", "");
  if (type == "Sequence") {
    if (!json.contains(list) || !json.at(list).is_array()) {
      throw std::runtime_error("the " + kind + " Sequence has no list " + config::in_quotes(list));
    }
    for (const Value& one : json.at(list)) read(one, kind, list, known, add, steps);
    return;
  }
  const bool late = steps.byte_level && kind == "pre_tokenizer";
  if (late) throw std::runtime_error("the pre_tokenizer ByteLevel is not the last");
  if (add(type, json, steps)) return;
  throw std::runtime_error("the " + kind + " " + config::in_quotes(type) + " is not supported; these are: Sequence, " +
                           known);
}

// {"String": "a"} or {"Regex": "a+"}
Pattern pattern_of(const Value& json) {
  const Value pattern = json.value("pattern", Value());
  const std::string text = text_in(pattern, "String", "");
  const std::string regex = text_in(pattern, "Regex", "");
  if (text.empty() == regex.empty()) throw std::runtime_error("a \"pattern\" has no \"String\" and no \"Regex\"");
  return regex.empty() ? Pattern::literal(text) : Pattern(regex);
}

std::string replaced(std::string_view text, const Pattern& pattern, const std::string& content) {
  std::string out;
  for (Parts parts(pattern, text); parts.next();) out += parts.is_match() ? std::string_view(content) : parts.text();
  return out;
}

enum class Behavior { removed, isolated, contiguous, merged_with_previous, merged_with_next };

// Cuts a text at the matches of a pattern, or with `invert` at the parts between them. A match forms a part, or joins
// the part before or after it.
void split(const Pattern& pattern, Behavior behavior, bool invert, std::string_view text, bool first,
           const Steps::Take& take) {
  std::size_t begin = 0, end = 0;  // of the part that may still grow
  bool was_match = false;
  const auto give = [&] {
    if (begin < end) take(text.substr(begin, end - begin), first && begin == 0);
  };
  for (Parts parts(pattern, text); parts.next();) {
    const bool match = parts.is_match() != invert;
    const bool joins = (behavior == Behavior::contiguous && match == was_match) ||
                       (behavior == Behavior::merged_with_previous && match && !was_match) ||
                       (behavior == Behavior::merged_with_next && !match && was_match);
    if (!joins) {
      give();
      begin = parts.begin();
    }
    end = behavior == Behavior::removed && match ? begin : parts.end();
    was_match = match;
  }
  give();
}

void add_split(Steps& steps, const Pattern& pattern, Behavior behavior, bool invert = false) {
  steps.pre_tokenizers.emplace_back([=](std::string_view text, bool first, const Steps::Take& take) {
    split(pattern, behavior, invert, text, first, take);
  });
}

Behavior behavior_of(const Value& json, const std::string& otherwise) {
  const std::string name = text_in(json, "behavior", otherwise);
  const char* const names[] = {"Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"};
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<Behavior>(found - std::begin(names));
  throw std::runtime_error("the behavior " + config::in_quotes(name) +
                           " is not one of Removed, Isolated, Contiguous, MergedWithPrevious and MergedWithNext");
}

// Rust's to_lowercase for each character, which libc has but for one.
void lowercase(std::string& text) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) throw std::runtime_error("the normalizer Lowercase needs the locale C.UTF-8");
  std::string out;
  for (std::size_t place = 0; place < text.size();) {
    const char32_t point = next_code_point(text, place);
    if (point == 0x130) {
      out += "i\xCC\x87";
    } else {
      append_utf8(towlower_l(point, unicode), out);
    }
  }
  text = std::move(out);
}

void strip(std::string& text, bool left, bool right) {
  std::size_t begin = text.size(), end = 0;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t here = place;
    if (is_white(next_code_point(text, place))) continue;
    begin = std::min(begin, here);
    end = place;
  }
  if (!left) begin = 0;
  if (!right) end = text.size();
  text = begin < end ? text.substr(begin, end - begin) : "";
}

constexpr const char* kNormalizers = "Lowercase, NFC, NFD, Prepend, Replace, Strip";

bool add_normalizer(const std::string& type, const Value& json, Steps& steps) {
  auto& to = steps.normalizers;
  if (type == "Lowercase") {
    std::string nothing;
    lowercase(nothing);  // fails without the locale
    to.emplace_back(lowercase);
  } else if (type == "NFC" || type == "NFD") {
    to.emplace_back([composed = type == "NFC"](std::string& text) { text = canonical(text, composed); });
  } else if (type == "Prepend") {
    to.emplace_back([before = text_in(json, "prepend", "")](std::string& text) {
      if (!text.empty()) text.insert(0, before);
    });
  } else if (type == "Replace") {
    to.emplace_back([pattern = pattern_of(json), content = text_in(json, "content", "")](std::string& text) {
      text = replaced(text, pattern, content);
    });
  } else if (type == "Strip") {
    to.emplace_back([left = flag_in(json, "strip_left", true),
                     right = flag_in(json, "strip_right", true)](std::string& text) { strip(text, left, right); });
  } else {
    return false;
  }
  return true;
}

struct Metaspace {
  std::string mark;
  std::string prepend;  // "always", "first", "never"

  explicit Metaspace(const Value& json) : mark(text_in(json, "replacement", "▁")) {
    prepend = text_in(json, "prepend_scheme", flag_in(json, "add_prefix_space", true) ? "always" : "never");
    if (prepend == "always" || prepend == "first" || prepend == "never") return;
    throw std::runtime_error("the prepend_scheme " + config::in_quotes(prepend) +
                             " is not one of always, first, never");
  }
};

void add_metaspace(const Value& json, Steps& steps) {
  steps.pre_tokenizers.emplace_back(
      [of = Metaspace(json), cuts = flag_in(json, "split", true), blank = Pattern::literal(" "),
       mark = Pattern::literal(Metaspace(json).mark)](std::string_view text, bool first, const Steps::Take& take) {
        std::string marked = replaced(text, blank, of.mark);
        const bool prepends = of.prepend == "always" || (of.prepend == "first" && first);
        if (prepends && !marked.starts_with(of.mark)) marked.insert(0, of.mark);
        if (!cuts) return take(marked, first);
        split(mark, Behavior::merged_with_next, /*invert=*/false, marked, first, take);
      });
}

// Punctuation as the package tokenizers knows it: ASCII's, and Unicode 8's of the categories P.
constexpr const char* kPunctuation =
    R"([$+<=>^`|~\x{166d}\x{111c9}]|(?![\x{61d}\x{9fd}\x{a76}\x{c77}\x{c84}\x{1b7d}\x{1b7e}\x{2e43}-\x{2e5d}\x{10ead})"
    R"(\x{10f55}-\x{10f59}\x{10f86}-\x{10f89}\x{1144b}-\x{1144f}\x{1145a}-\x{1145d}\x{11660}-\x{1166c}\x{116b9})"
    R"(\x{1183b}\x{11944}-\x{11946}\x{119e2}\x{11a3f}-\x{11a46}\x{11a9a}-\x{11aa2}\x{11c41}-\x{11c45}\x{11c70}\x{11c71})"
    R"(\x{11ef7}\x{11ef8}\x{11fff}\x{12ff1}\x{12ff2}\x{16e97}-\x{16e9a}\x{16fe2}\x{1e95e}\x{1e95f}])\p{P})";

constexpr const char* kPreTokenizers = "ByteLevel, Digits, Metaspace, Punctuation, Split, Whitespace, WhitespaceSplit";

bool add_pre_tokenizer(const std::string& type, const Value& json, Steps& steps) {
  if (type == "ByteLevel") {
    if (flag_in(json, "add_prefix_space", true)) {
      steps.pre_tokenizers.emplace_back([](std::string_view text, bool first, const Steps::Take& take) {
        take(text.starts_with(' ') ? text : " " + std::string(text), first);
      });
    }
    if (flag_in(json, "use_regex", true)) add_split(steps, Pattern(kGpt2Words), Behavior::isolated);
    steps.byte_level = true;
  } else if (type == "Digits") {
    const bool single = flag_in(json, "individual_digits", false);
    add_split(steps, Pattern(R"(\p{N})"), single ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Metaspace") {
    add_metaspace(json, steps);
  } else if (type == "Punctuation") {
    add_split(steps, Pattern(kPunctuation), behavior_of(json, "Isolated"));
  } else if (type == "Split") {
    add_split(steps, pattern_of(json), behavior_of(json, ""), flag_in(json, "invert", false));
  } else if (type == "Whitespace") {
    const std::string word = std::string(kWordClass) + R"(\x{200c}\x{200d})";
    add_split(steps, Pattern("[" + word + "]+|[^" + word + R"(\s]+)"), Behavior::removed, /*invert=*/true);
  } else if (type == "WhitespaceSplit") {
    add_split(steps, Pattern(R"(\s)"), Behavior::removed);
  } else {
    return false;
  }
  return true;
}

// Appends the bytes of tokens like <0x0A>, or the tokens themselves. Adjacent bytes form one token.
void join_bytes(std::vector<std::string>& tokens) {
  std::vector<std::string> joined;
  bool in_bytes = false;
  for (std::string& token : tokens) {
    unsigned byte = 0;
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                         std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
    if (is_byte && !in_bytes) joined.emplace_back();
    if (is_byte) {
      joined.back().push_back(static_cast<char>(byte));
    } else {
      joined.push_back(std::move(token));
    }
    in_bytes = is_byte;
  }
  tokens = std::move(joined);
}

void fuse(std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens = {all};
}

void strip_token(std::string& token, const std::string& content, std::int64_t start, std::int64_t stop) {
  if (content.empty()) return;
  for (; start > 0 && token.starts_with(content); --start) token.erase(0, content.size());
  for (; stop > 0 && token.ends_with(content); --stop) token.erase(token.size() - content.size());
}

void replace_all(std::string& token, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (std::size_t at = token.find(from); at != token.npos; at = token.find(from, at + to.size())) {
    token.replace(at, from.size(), to);
  }
}

constexpr const char* kDecoders = "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip";

bool add_decoder(const std::string& type, const Value& json, Steps& steps) {
  using Tokens = std::vector<std::string>;
  auto& to = steps.decoders;
  if (type == "BPEDecoder") {
    to.emplace_back([suffix = text_in(json, "suffix", "</w>")](Tokens& tokens) {
      for (std::string& token : tokens) replace_all(token, suffix, &token == &tokens.back() ? "" : " ");
    });
  } else if (type == "ByteFallback") {
    to.emplace_back(join_bytes);
  } else if (type == "ByteLevel") {
    to.emplace_back([](Tokens& tokens) {
      for (std::string& token : tokens) token = bytes_of_token(token);
      fuse(tokens);
    });
  } else if (type == "Fuse") {
    to.emplace_back(fuse);
  } else if (type == "Metaspace") {
    to.emplace_back([of = Metaspace(json)](Tokens& tokens) {
      const bool strips = of.prepend != "never";
      for (std::string& token : tokens) replace_all(token, of.mark, strips && &token == &tokens.front() ? "" : " ");
    });
  } else if (type == "Replace") {
    const std::string from = text_in(json.value("pattern", Value()), "String", "");
    if (from.empty()) throw std::runtime_error("the decoder Replace has no \"pattern\" with a \"String\"");
    to.emplace_back([from, content = text_in(json, "content", "")](Tokens& tokens) {
      for (std::string& token : tokens) replace_all(token, from, content);
    });
  } else if (type == "Strip") {
    const auto count = [&](const char* key) { return config::as_count(json.value(key, Value(0u))); };
    to.emplace_back(
        [content = text_in(json, "content", " "), start = count("start"), stop = count("stop")](Tokens& tokens) {
          for (std::string& token : tokens) strip_token(token, content, start, stop);
        });
  } else {
    return false;
  }
  return true;
}

template <class T>
T member_or(const Value& json, const char* key, const T& otherwise) {
  if (!json.is_object() || !json.contains(key) || json.at(key).is_null()) return otherwise;
  try {
    return json.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(config::in_quotes(key) + " has a wrong type");
  }
}

}  // namespace

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += gpt2_alphabet()[static_cast<unsigned char>(byte)];
  return text;
}

Steps read_steps(const Value& json) {
  Steps steps;
  read(json.value("normalizer", Value()), "normalizer", "normalizers", kNormalizers, add_normalizer, steps);
  read(json.value("pre_tokenizer", Value()), "pre_tokenizer", "pretokenizers", kPreTokenizers, add_pre_tokenizer,
       steps);
  read(json.value("decoder", Value()), "decoder", "decoders", kDecoders, add_decoder, steps);
  return steps;
}

bool flag_in(const Value& json, const char* key, bool otherwise) { return member_or(json, key, otherwise); }

std::string text_in(const Value& json, const char* key, const std::string& otherwise) {
  return member_or(json, key, otherwise);
}

}  // namespace ddp::tokenize
