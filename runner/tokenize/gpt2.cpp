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
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_merges(const fs::path& file) {
  const std::string text = read_tokenizer_file(file);
  std::vector<std::string> merges;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    if (!is_merge(line)) {
      throw usage_error("is not a merge of two tokens, with a blank between them",
                        file.string() + ":" + std::to_string(number));
    }
    merges.push_back(std::move(line));
  }
  return merges;
}

std::vector<std::string> read_vocabulary(const fs::path& file) {
  const std::string text = read_tokenizer_file(file);
  try {
    std::vector<std::string> tokens = tokens_by_id(config::parse_json(text));
    const auto none = std::find(tokens.begin(), tokens.end(), "");
    if (none == tokens.end()) return tokens;
    throw std::runtime_error("no token has the id " + std::to_string(none - tokens.begin()));
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a vocabulary: ") + error.what(), file.string());
  }
}

struct Gpt2Options {
  std::string folder;
  BytePairs kept;
  void fields(config::Fields& f) {
    f({.name = "folder", .doc = "folder of vocab.json and merges.txt; empty: use tokens and merges"}, folder);
    f({.name = "tokens", .doc = "tokens in the order of their ids, in GPT-2's alphabet"}, kept.tokens);
    f({.name = "merges", .doc = "merges \"left right\" in the order of their ranks"}, kept.merges);
  }
};

// GPT-2's byte pair encoding. The whole text is ordinary text: "<|endoftext|>" is not a special token, as in nanoGPT's
// encode_ordinary. The files are untrusted: their sizes and contents are checked.
std::unique_ptr<Tokenizer> make_gpt2(const Gpt2Options& options, const Text&) {
  BytePairs files = options.kept;
  const fs::path folder = options.folder;
  if (!folder.empty()) {
    files = {.tokens = read_vocabulary(folder / "vocab.json"), .merges = read_merges(folder / "merges.txt")};
  }
  try {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string token = in_alphabet(std::string(1, static_cast<char>(byte)));
      if (std::find(files.tokens.begin(), files.tokens.end(), token) != files.tokens.end()) continue;
      throw std::runtime_error("it lacks the token " + config::in_quotes(token) + "; there is one for each byte");
    }
    return make_byte_pairs(std::move(files));
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a tokenizer of GPT-2: ") + error.what(),
                      folder.empty() ? "the tokenizer in preprocessing.json" : folder.string(),
                      "give vocab.json and merges.txt of one tokenizer");
  }
}

const bool gpt2_registered =
    tokenizers().add<Gpt2Options>("gpt2", "GPT-2's byte pair encoding", make_gpt2, {{"reads", "folder"}});

}  // namespace
}  // namespace ddp::tokenize
