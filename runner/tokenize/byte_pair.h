#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/tokenizer.h"

namespace ddp::tokenize {

// A tokenizer of byte pair encoding as its files describe it.
struct BytePairs {
  std::vector<std::string> tokens = {};  // in the order of their ids; an empty one has no text
  std::vector<std::string> merges = {};  // "left right", in the order of their ranks
  config::Value json =
      {};  // the rest of a tokenizer.json: "model" without these, the steps, "added_tokens"; null: GPT-2's
};

// Throws std::runtime_error that says what is wrong.
std::unique_ptr<Tokenizer> make_byte_pairs(BytePairs files);

// Returns the tokens of {"token": id, …} in the order of their ids; "" has no token. Throws std::runtime_error.
std::vector<std::string> tokens_by_id(const nlohmann::json& vocabulary);

// Is it two tokens with a blank between them?
bool is_merge(std::string_view line);

// Returns the text of a file, which is untrusted. Throws ddp::Error (usage).
std::string read_tokenizer_file(const std::filesystem::path& file);

}  // namespace ddp::tokenize
