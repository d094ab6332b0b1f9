#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddp::tokenize {

// GPT-2's vocabulary as its files hold it: tokens in the order of their ids, and merges "left right" in the order of
// their ranks. Both are written in GPT-2's alphabet, where each byte is one printed character.
struct Gpt2Vocabulary {
  std::vector<std::string> tokens = {};
  std::vector<std::string> merges = {};
};

// Reads vocab.json and merges.txt of a folder. The files are data from outside: their sizes and forms are checked.
// Throws ddp::Error (usage) with file and, of merges.txt, line.
Gpt2Vocabulary read_gpt2_files(const std::filesystem::path& folder);

// GPT-2's alphabet: the code point of each byte. Bytes that are printed in Latin-1 stand for themselves, the others for
// the code points from 256 on (openai/gpt-2, src/encoder.py, bytes_to_unicode).
const std::array<char32_t, 256>& gpt2_alphabet();

// Returns the bytes of a token. Characters that are not in the alphabet stay as they are.
std::string bytes_of_token(std::string_view token);

}  // namespace ddp::tokenize
