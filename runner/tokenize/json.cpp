#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "tokenize/byte_pair.h"

namespace ddp::tokenize {
namespace {

BytePairs read_tokenizer_json(const std::string& text) {
  nlohmann::json json = config::parse_json(text);
  config::member(json, "model");
  nlohmann::json& model = json["model"];
  const std::string type = model.contains("type") ? config::text_member(model, "type") : "BPE";
  if (type != "BPE")
    throw std::runtime_error("the model " + config::in_quotes(type) + " is not supported; this is: BPE");
  BytePairs files{.tokens = tokens_by_id(config::member(model, "vocab"))};
  for (const nlohmann::json& merge : config::member(model, "merges")) {
    const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    files.merges.push_back(merge.is_string() ? merge.get<std::string>()
                           : pair            ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                                             : "");
    if (is_merge(files.merges.back())) continue;
    throw std::runtime_error("its merge " + config::in_quotes(merge.dump()) +
                             " is not \"left right\" or [\"left\", \"right\"], of tokens without blanks");
  }
  model.erase("vocab");
  model.erase("merges");
  for (const char* part : {"model", "normalizer", "pre_tokenizer", "decoder", "added_tokens"}) {
    if (json.contains(part) && !json[part].is_null()) files.json[part] = json[part];
  }
  return files;
}

struct JsonOptions {
  std::string file;
  BytePairs kept;
  void fields(config::Fields& f) {
    f({.name = "file", .doc = "tokenizer.json of Hugging Face; empty: use the other options"}, file);
    f({.name = "tokens", .doc = "tokens in the order of their ids"}, kept.tokens);
    f({.name = "merges", .doc = "merges \"left right\" in the order of their ranks"}, kept.merges);
    f({.name = "json", .doc = "the rest of the file", .types = {config::Type::table}}, kept.json);
  }
};

// The encoder of Hugging Face's package tokenizers, without special tokens at the ends of a text, without truncation.
std::unique_ptr<Tokenizer> make_json(const JsonOptions& options, const Text&) {
  const std::string text = options.file.empty() ? "" : read_tokenizer_file(options.file);
  try {
    return make_byte_pairs(options.file.empty() ? options.kept : read_tokenizer_json(text));
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is not a tokenizer: ") + error.what(),
                      options.file.empty() ? "the tokenizer in preprocessing.json" : options.file);
  }
}

const bool json_registered = tokenizers().add<JsonOptions>(
    "json", "byte pair encoding from Hugging Face's tokenizer.json", make_json, {{"reads", "file"}});

}  // namespace
}  // namespace ddp::tokenize
