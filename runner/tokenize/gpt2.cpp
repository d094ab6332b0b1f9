#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tokenize/byte_pair.h"
#include "tokenize/steps.h"

namespace ddp::tokenize {
namespace fs = std::filesystem;

namespace {

constexpr const char* kVersionLine = "#version";

// Returns left, right, left, right, …
std::vector<std::string> read_merges(const std::string& text, const fs::path& file) {
  std::vector<std::string> merges;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with(kVersionLine)) || add_merge(line, merges)) continue;
    throw usage_error("is not a merge of two tokens, with a blank between them",
                      file.string() + ":" + std::to_string(number));
  }
  return merges;
}

// Reads vocab.json and merges.txt of a folder. The files are untrusted: their sizes and contents are checked. Throws
// ddp::Error (usage) with the file and, for merges.txt, the line.
BytePairs read_gpt2_files(const fs::path& folder) {
  const fs::path tokens = folder / "vocab.json";
  const fs::path merges = folder / "merges.txt";
  const std::string text = read_tokenizer_file(tokens);
  BytePairs files;
  try {
    files.tokens = tokens_by_id(config::parse_json(text));
    const auto none = std::find(files.tokens.begin(), files.tokens.end(), "");
    if (none != files.tokens.end()) {
      throw std::runtime_error("no token has the id " + std::to_string(none - files.tokens.begin()));
    }
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a vocabulary: ") + error.what(), tokens.string());
  }
  files.merges = read_merges(read_tokenizer_file(merges), merges);
  return files;
}

struct Gpt2Options {
  std::string folder;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  void fields(config::Fields& f) {
    f({.name = "folder", .doc = "folder of vocab.json and merges.txt; empty: use tokens and merges"}, folder);
    f({.name = "tokens", .doc = "tokens in the order of their ids, in GPT-2's alphabet"}, tokens);
    f({.name = "merges", .doc = "merges \"left right\" in the order of their ranks"}, merges);
  }
};

// GPT-2's byte pair encoding. The whole text is ordinary text: "<|endoftext|>" is not a special token, as in nanoGPT's
// encode_ordinary.
std::unique_ptr<Tokenizer> make_gpt2(const Gpt2Options& options, const Text&) {
  BytePairs files = options.folder.empty() ? BytePairs{.tokens = options.tokens} : read_gpt2_files(options.folder);
  try {
    if (options.folder.empty()) {
      for (const std::string& merge : options.merges) {
        if (!add_merge(merge, files.merges)) {
          throw std::runtime_error("it has the merge " + config::in_quotes(merge) + ", which is invalid");
        }
      }
    }
    for (int byte = 0; byte < 256; ++byte) {
      const std::string token = in_alphabet(std::string(1, static_cast<char>(byte)));
      if (std::find(files.tokens.begin(), files.tokens.end(), token) != files.tokens.end()) continue;
      throw std::runtime_error("it lacks the token " + config::in_quotes(token) + "; there is one for each byte");
    }
    files.of_gpt2 = true;
    files.json = {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                  {"decoder", {{"type", "ByteLevel"}}}};
    return make_byte_pairs(std::move(files));
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a tokenizer of GPT-2: ") + error.what(),
                      options.folder.empty() ? "the tokenizer in preprocessing.json" : options.folder,
                      "give vocab.json and merges.txt of one tokenizer");
  }
}

const bool gpt2_registered =
    tokenizers().add<Gpt2Options>("gpt2", "GPT-2's byte pair encoding", make_gpt2, {{"reads", "folder"}});

}  // namespace

}  // namespace ddp::tokenize
