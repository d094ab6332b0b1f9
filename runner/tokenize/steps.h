#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/option/value.h"
#include "config/text/source.h"

namespace ddp::tokenize {

// GPT-2's alphabet, in which each byte is one printable character. Printable bytes of Latin-1 stand for themselves, the
// others for code points from 256 on (openai/gpt-2, src/encoder.py, bytes_to_unicode).
std::string in_alphabet(std::string_view bytes);

// GPT-2's regular expression for words: contractions, letters, numbers and other characters, each with the blank before
// it, and white space (openai/gpt-2, src/encoder.py).
inline constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// What a tokenizer.json does to a text before its byte pairs are joined, and to the tokens of decoded ids.
struct Steps {
  // Receives a part of a text; `first`: it begins at the beginning of the whole text.
  using Take = std::function<void(std::string_view part, bool first)>;

  std::vector<std::function<void(std::string& text)>> normalizers = {};
  std::vector<std::function<void(std::string_view text, bool first, const Take& take)>> pre_tokenizers = {};
  bool byte_level = false;  // words are spelled in GPT-2's alphabet
  // Without a decoder, a blank stands between tokens.
  std::vector<std::function<void(std::vector<std::string>& tokens)>> decoders = {};
};

// Reads the members "normalizer", "pre_tokenizer" and "decoder" of a tokenizer.json. Throws std::runtime_error.
Steps read_steps(const config::Value& json);

// Returns the member of an object under a key, or `otherwise` if it is missing or null. Throws std::runtime_error if
// it has another type.
template <class T>
T member_or(const config::Value& json, const char* key, T otherwise) try {
  if (!json.is_object() || !json.contains(key) || json.at(key).is_null()) return otherwise;
  return json.at(key).get<T>();
} catch (const nlohmann::json::exception&) {
  throw std::runtime_error(config::in_quotes(key) + " has a wrong type");
}

}  // namespace ddp::tokenize
