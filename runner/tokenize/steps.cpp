#include "tokenize/steps.h"

#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tokenize/pattern.h"
#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

using config::Value;

constexpr int kLongestForm = 18;     // the most characters that stand for one in a normalization form
constexpr const char* kBlank = "▁";  // for a blank in the tokens of SentencePiece

// The characters of GPT-2's alphabet. Index: the byte.
const std::array<char32_t, 256>& gpt2_alphabet() {
  static const std::array<char32_t, 256> alphabet = [] {
    std::array<char32_t, 256> characters{};
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printed = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      characters[byte] = printed ? byte : next++;
    }
    return characters;
  }();
  return alphabet;
}

// Returns the bytes of a token; a token with a character outside of the alphabet stays unchanged.
std::string bytes_of_token(const std::string& token) {
  if (first_invalid(token) != token.npos) return token;
  std::string bytes;
  for (std::size_t place = 0; place < token.size();) {
    const auto& alphabet = gpt2_alphabet();
    const auto* const found = std::find(alphabet.begin(), alphabet.end(), next_code_point(token, place));
    if (found == alphabet.end()) return token;
    bytes.push_back(static_cast<char>(found - alphabet.begin()));
  }
  return bytes;
}

[[noreturn]] void refuse(const std::string& what, const std::string& value, const char* allowed) {
  throw std::runtime_error("the " + what + " " + config::in_quotes(value) + " is not supported; these are: " + allowed);
}

// Adds the step of this type. Returns false if the type is unknown.
using Add = bool (*)(const std::string& type, const Value& json, Steps& steps);

// Reads one step, or with `list` the steps of a Sequence.
void read(const Value& json, const std::string& kind, const char* list, const char* known, Add add, Steps& steps) {
  if (json.is_null()) return;
  const std::string type = member_or<std::string>(json, "type", "");
  if (type != "Sequence") {
    const bool late = steps.byte_level && kind == "pre_tokenizer";
    if (late) throw std::runtime_error("the pre_tokenizer ByteLevel is not the last");
    if (!add(type, json, steps)) refuse(kind, type, known);
    return;
  }
  if (!json.contains(list) || !json.at(list).is_array()) {
    throw std::runtime_error("the " + kind + " Sequence has no list " + config::in_quotes(list));
  }
  for (const Value& one : json.at(list)) read(one, kind, list, known, add, steps);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t found; !from.empty() && (found = text.find(from)) != text.npos;) {
    out.append(text.substr(0, found)).append(to);
    text.remove_prefix(found + from.size());
  }
  return out.append(text);
}

// {"String": "a"} or {"Regex": "a+"}
struct Searched {
  std::string text, regex;  // one of them is empty

  explicit Searched(const Value& json) {
    const Value pattern = json.value("pattern", Value());
    text = member_or<std::string>(pattern, "String", "");
    regex = member_or<std::string>(pattern, "Regex", "");
    if (text.empty() == regex.empty()) throw std::runtime_error("a \"pattern\" has no \"String\" and no \"Regex\"");
  }

  Pattern pattern() const {
    std::string quoted = regex;
    for (const char c : text) {
      const bool sign = static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) == 0;
      quoted += (sign ? "\\" : "") + std::string(1, c);
    }
    return Pattern(quoted);
  }
};

// Cuts a text at the matches of a pattern, or with `invert` at the parts between them. A match forms a part, is
// removed, or joins the part before it.
void add_split(Steps& steps, const Pattern& pattern, const std::string& behavior, bool invert = false) {
  const bool removes = behavior == "Removed", merges = behavior == "MergedWithPrevious";
  if (!removes && !merges && behavior != "Isolated") {
    refuse("behavior", behavior, "Isolated, MergedWithPrevious, Removed");
  }
  steps.pre_tokenizers.emplace_back([=](std::string_view text, bool first, const Steps::Take& take) {
    std::size_t begin = 0, end = 0, place = 0;  // of the part that may still grow, and of the next one
    bool was_match = false;
    const auto give = [&] {
      if (begin < end) take(text.substr(begin, end - begin), first && begin == 0);
    };
    pattern.cut(text, [&](std::string_view part, bool is_match) {
      const bool match = is_match != invert;
      if (!merges || !match || was_match) {
        give();
        begin = place;
      }
      place += part.size();
      end = removes && match ? begin : place;
      was_match = match;
    });
    give();
  });
}

// Brings a text into one of Unicode's normalization forms (The Unicode Standard, section 3.11). ASCII characters join
// no character before them: each begins a part of its own.
void normalize(std::string& text, int form) {
  const auto options = static_cast<utf8proc_option_t>(form | UTF8PROC_STABLE);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const auto class_of = [](utf8proc_int32_t point) { return utf8proc_get_property(point)->combining_class; };
  std::vector<utf8proc_int32_t> points;
  std::string out;
  for (auto place = text.cbegin();;) {
    auto begin = std::find_if_not(place, text.cend(), is_ascii);
    if (begin != place && begin != text.cend()) --begin;
    out.append(place, begin);
    if (begin == text.cend()) break;
    place = std::find_if(begin + 1, text.cend(), is_ascii);
    points.clear();
    for (auto i = static_cast<std::size_t>(begin - text.cbegin()); text.cbegin() + i != place;) {
      const auto point = static_cast<utf8proc_int32_t>(next_code_point(text, i));
      const std::size_t size = points.size();
      points.resize(size + kLongestForm);
      points.resize(size + utf8proc_decompose_char(point, &points[size], kLongestForm, options, nullptr));
    }
    // utf8proc_map would take quadratic time for a run of marks.
    for (auto marks = points.begin(); marks != points.end();) {
      const auto end = std::find_if(marks, points.end(), [&](auto point) { return class_of(point) == 0; });
      std::stable_sort(marks, end, [&](auto one, auto other) { return class_of(one) < class_of(other); });
      marks = end == points.end() ? end : end + 1;
    }
    points.resize(utf8proc_normalize_utf32(points.data(), points.size(), options));
    for (const auto point : points) append_utf8(static_cast<char32_t>(point), out);
  }
  text = std::move(out);
}

// Rust's to_lowercase for each character.
void lowercase(std::string& text) {
  std::string out;
  for (std::size_t place = 0; place < text.size();) {
    const char32_t point = next_code_point(text, place);
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))), out);
    if (point == 0x130) append_utf8(0x307, out);
  }
  text = std::move(out);
}

bool add_normalizer(const std::string& type, const Value& json, Steps& steps) {
  auto& to = steps.normalizers;
  static const std::map<std::string_view, int> forms{{"NFC", UTF8PROC_COMPOSE},
                                                     {"NFD", UTF8PROC_DECOMPOSE},
                                                     {"NFKC", UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                                                     {"NFKD", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
  if (type == "Lowercase") {
    to.emplace_back(lowercase);
  } else if (const auto form = forms.find(type); form != forms.end()) {
    to.emplace_back([form = form->second](std::string& text) { normalize(text, form); });
  } else if (type == "Prepend") {
    to.emplace_back([before = member_or<std::string>(json, "prepend", "")](std::string& text) {
      if (!text.empty()) text.insert(0, before);
    });
  } else if (type == "Replace") {
    const Searched searched(json);
    const std::string content = member_or<std::string>(json, "content", "");
    if (searched.regex.empty()) {
      to.emplace_back([=](std::string& text) { text = replaced(text, searched.text, content); });
      return true;
    }
    to.emplace_back([content, pattern = searched.pattern()](std::string& text) {
      std::string out;
      pattern.cut(text, [&](std::string_view part, bool is_match) { out += is_match ? content : part; });
      text = std::move(out);
    });
  } else {
    return false;
  }
  return true;
}

// When Metaspace puts its mark before a text.
std::string prepends(const Value& json) {
  std::string scheme = member_or<std::string>(json, "prepend_scheme", "always");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    refuse("prepend_scheme", scheme, "always, first, never");
  }
  return scheme;
}

bool add_pre_tokenizer(const std::string& type, const Value& json, Steps& steps) {
  if (type == "ByteLevel") {
    if (member_or(json, "add_prefix_space", true)) {
      steps.pre_tokenizers.emplace_back([](std::string_view text, bool first, const Steps::Take& take) {
        take(text.starts_with(' ') ? text : " " + std::string(text), first);
      });
    }
    if (member_or(json, "use_regex", true)) add_split(steps, Pattern(kGpt2Words), "Isolated");
    steps.byte_level = true;
  } else if (type == "Digits" && member_or(json, "individual_digits", false)) {
    add_split(steps, Pattern(R"(\p{N})"), "Isolated");
  } else if (type == "Metaspace" && !member_or(json, "split", true)) {
    steps.pre_tokenizers.emplace_back(
        [mark = member_or<std::string>(json, "replacement", kBlank), scheme = prepends(json)](
            std::string_view text, bool first, const Steps::Take& take) {
          std::string marked = replaced(text, " ", mark);
          const bool prepend = scheme == "always" || (scheme == "first" && first);
          take(prepend && !marked.starts_with(mark) ? mark + marked : marked, first);
        });
  } else if (type == "Split") {
    add_split(steps, Searched(json).pattern(), member_or<std::string>(json, "behavior", ""),
              member_or(json, "invert", false));
  } else {
    return false;
  }
  return true;
}

// Appends the bytes of tokens like <0x0A>, or the tokens themselves. Adjacent bytes form one token.
void join_bytes(std::vector<std::string>& tokens) {
  std::vector<std::string> joined;
  bool in_bytes = false;
  for (const std::string& token : tokens) {
    unsigned byte = 0;
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                         std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
    if (!is_byte || !in_bytes) joined.emplace_back();
    joined.back() += is_byte ? std::string(1, static_cast<char>(byte)) : token;
    in_bytes = is_byte;
  }
  tokens = std::move(joined);
}

void fuse(std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens = {all};
}

bool add_decoder(const std::string& type, const Value& json, Steps& steps) {
  using Tokens = std::vector<std::string>;
  auto& to = steps.decoders;
  if (type == "ByteFallback") {
    to.emplace_back(join_bytes);
  } else if (type == "ByteLevel") {
    to.emplace_back([](Tokens& tokens) {
      for (std::string& token : tokens) token = bytes_of_token(token);
      fuse(tokens);
    });
  } else if (type == "Fuse") {
    to.emplace_back(fuse);
  } else if (type == "Metaspace") {
    to.emplace_back([mark = member_or<std::string>(json, "replacement", kBlank),
                     strips = prepends(json) != "never"](Tokens& tokens) {
      for (std::string& token : tokens) token = replaced(token, mark, strips && &token == &tokens.front() ? "" : " ");
    });
  } else if (type == "Replace" && Searched(json).regex.empty()) {
    to.emplace_back(
        [from = Searched(json).text, content = member_or<std::string>(json, "content", "")](Tokens& tokens) {
          for (std::string& token : tokens) token = replaced(token, from, content);
        });
  } else if (type == "Strip") {
    const auto count = [&](const char* key) { return config::as_count(json.value(key, Value(0u))); };
    to.emplace_back([content = member_or<std::string>(json, "content", " "), start = count("start"),
                     stop = count("stop")](Tokens& all) {
      for (std::string& token : all) {
        if (content.empty()) break;
        for (auto i = start; i > 0 && token.starts_with(content); --i) token.erase(0, content.size());
        for (auto i = stop; i > 0 && token.ends_with(content); --i) token.erase(token.size() - content.size());
      }
    });
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(gpt2_alphabet()[static_cast<unsigned char>(byte)], text);
  return text;
}

Steps read_steps(const Value& json) {
  Steps steps;
  read(json.value("normalizer", Value()), "normalizer", "normalizers",
       "Lowercase, NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence", add_normalizer, steps);
  read(json.value("pre_tokenizer", Value()), "pre_tokenizer", "pretokenizers",
       "ByteLevel, Digits with \"individual_digits\", Metaspace with \"split\": false, Sequence, Split",
       add_pre_tokenizer, steps);
  read(json.value("decoder", Value()), "decoder", "decoders",
       "ByteFallback, ByteLevel, Fuse, Metaspace, Replace of a \"String\", Sequence, Strip", add_decoder, steps);
  return steps;
}

}  // namespace ddp::tokenize
