#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/text/blocks.h"
#include "record/file/input_file.h"
#include "tokenize/tokenizer.h"

namespace ddp::datasets {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizer = "tokenizer";

struct TextOptions : BlockOptions {
  config::Value path;
  std::string tokenizer = "char";
  void fields(config::Fields& f) {
    f(path_option("file, glob, or a list of these; the files are joined without a separator"), path);
    f({.name = kTokenizer,
       .doc =
           "\"char\", \"byte\", a tokenizer.json of Hugging Face, or a folder with GPT-2's vocab.json and merges.txt",
       .path = true,
       .words = tokenize::tokenizer_names()},
      tokenizer);
    BlockOptions::fields(f);
  }
};

// The concatenated files of a dataset.
struct Joined {
  std::string bytes;
  std::vector<tokenize::Text::Source> sources;

  tokenize::Text text() const { return {.bytes = bytes, .sources = sources}; }
};

Joined read_files(const std::vector<fs::path>& files) {
  Joined joined;
  for (const fs::path& file : files) try {
      const record::InputFile in(file);
      const std::size_t begin = joined.bytes.size();
      joined.sources.push_back({.name = file.string(), .begin = begin});
      joined.bytes.resize(begin + in.size());
      in.read(0, joined.bytes.data() + begin, in.size());
    } catch (const Error& error) {
      throw usage_error(error.summary(), file.string(), "see dataset.path");
    }
  return joined;
}

// Returns the smallest type for that many tokens that files of tensors support.
at::ScalarType type_for(std::int64_t vocab_size) {
  if (vocab_size <= 1 << 8) return at::kByte;
  return vocab_size <= 1 << 15 ? at::kShort : at::kInt;
}

at::Tensor encode_text(const tokenize::Tokenizer& tokenizer, const tokenize::Text& text) {
  // Most texts have at most as many tokens as bytes. Unused memory pages take no memory.
  at::Tensor all = at::empty({static_cast<std::int64_t>(text.bytes.size())}, type_for(tokenizer.vocab_size()));
  std::int64_t count = 0;
  tokenizer.encode(text, [&](std::span<const std::int32_t> ids) {
    const auto more = static_cast<std::int64_t>(ids.size());
    if (count + more > all.size(0)) all.resize_({2 * (count + more)});
    all.narrow(0, count, more).copy_(at::from_blob(const_cast<std::int32_t*>(ids.data()), {more}, at::kInt));
    count += more;
  });
  return all.narrow(0, 0, count);
}

TokenData read_text(const TextOptions& o, const Context& context) {
  const std::vector<fs::path> files =
      files_of(o.path, "dataset.path", {".txt", ".md", ".csv", ".json", ".jsonl", ".html", ".xml", ".py"});
  const Joined joined = read_files(files);
  const config::Value kept =
      context.preprocessing.is_object() ? context.preprocessing.value(kTokenizer, config::Value()) : config::Value();
  const tokenize::NamedTokenizer named =
      kept.is_null() ? tokenize::make_tokenizer(o.tokenizer, joined.text()) : tokenize::tokenizer_from_json(kept);
  return {.tokens = Tokens(encode_text(*named.tokenizer, joined.text())),
          .vocab_size = [tokenizer = named.tokenizer] { return tokenizer->vocab_size(); },
          .name = files_in_words(files),
          .preprocessing = {{kTokenizer, tokenize::to_json(named)}},
          .holds = true};
}

// Returns the tokens that another process has read, with its tokenizer.
TokenData held_text(const TextOptions& o, const Context& context) {
  return {.tokens = Tokens(context.held.front().second),
          .vocab_size =
              [kept = context.preprocessing] {
                return tokenize::tokenizer_from_json(kept.at(kTokenizer)).tokenizer->vocab_size();
              },
          .name = one_or_more(o.path, "dataset.path").front(),
          .preprocessing = context.preprocessing,
          .holds = true};
}

std::unique_ptr<Dataset> make_text(const TextOptions& o, const Context& context) {
  if (!context.held.empty()) return make_samples(held_text(o, context), o, context);
  const TokenData* read = tokens_of_training(context);
  return make_samples(read != nullptr ? *read : read_text(o, context), o, context);
}

config::Value text_traits() {
  config::Value traits = block_traits();
  traits["held"] = true;
  return traits;
}

const bool text_registered = registry().add<TextOptions>(
    "text", "text files as tokens: the target is the next token at every place of a block", make_text, text_traits());

}  // namespace
}  // namespace ddp::datasets
