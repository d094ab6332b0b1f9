#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddp::tokenize {

// GPT-2's vocabulary as in its files: tokens in the order of their ids, and merges "left right" in the order of their
// ranks. Both are in GPT-2's alphabet, where each byte is one printable character.
struct Gpt2Vocabulary {
  std::vector<std::string> tokens = {};
  std::vector<std::string> merges = {};
};

// Reads vocab.json and merges.txt of a folder. The files are untrusted: their sizes and contents are checked. Throws
// ddp::Error (usage) with the file and, for merges.txt, the line.
Gpt2Vocabulary read_gpt2_files(const std::filesystem::path& folder);

// GPT-2's alphabet: the code point of each byte. Printable bytes of Latin-1 stand for themselves, the others for code
// points from 256 on (openai/gpt-2, src/encoder.py, bytes_to_unicode).
const std::array<char32_t, 256>& gpt2_alphabet();

// Returns the bytes of a token. Characters outside of the alphabet stay unchanged.
std::string bytes_of_token(std::string_view token);

}  // namespace ddp::tokenize
