#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/text/blocks.h"
#include "format/mapped_file.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

struct TokensOptions : BlockOptions {
  config::Value path;
  std::string dtype = "uint16";
  void fields(config::Fields& f) {
    f(path_option("file of consecutive tokens, such as nanoGPT's train.bin; a glob, or a list of these"), path);
    f({.name = "dtype", .doc = "type of a token", .choices = {"uint16", "uint32", "int32", "int64"}}, dtype);
    BlockOptions::fields(f);
  }
};

at::ScalarType type_of(const std::string& dtype) {
  if (dtype == "uint16") return at::kUInt16;
  if (dtype == "uint32") return at::kUInt32;
  return dtype == "int32" ? at::kInt : at::kLong;
}

// Tokens of any width have other bytes than letters, signs and line ends among so many.
bool looks_like_text(std::string_view bytes) {
  constexpr std::size_t kLooked = 256;
  const auto is_of_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; };
  const std::string_view head = bytes.substr(0, kLooked);
  return head.size() == kLooked && std::all_of(head.begin(), head.end(), is_of_text);
}

at::Tensor map_tokens(const std::filesystem::path& path, const std::string& dtype) {
  const at::ScalarType type = type_of(dtype);
  const auto width = c10::elementSize(type);
  const record::InputFile file(path);
  if (file.size() == 0) throw usage_error("is empty", path.string());
  if (file.size() % width != 0) {
    throw usage_error("has " + std::to_string(file.size()) + " bytes, not a whole number of " + dtype + " tokens",
                      path.string(), "see dataset.dtype");
  }
  const format::MappedFile mapped = format::map_file(file, path);
  if (looks_like_text(mapped.bytes)) {
    throw usage_error("holds text, not tokens", path.string(), "dataset.name = \"text\" reads it");
  }
  // from_blob takes a pointer to mutable memory, but nothing may write here: the memory pages are mapped read-only.
  return at::from_blob(
      const_cast<char*>(mapped.bytes.data()), {static_cast<std::int64_t>(file.size() / width)},
      [memory = mapped.memory](void*) {}, at::TensorOptions(type));
}

std::unique_ptr<Dataset> map_files(const TokensOptions& o, const Context& context) {
  if (const TokenData* read = tokens_of_training(context)) return make_samples_of_role(*read, o, context);
  const auto files = files_of(o.path, "dataset.path", {".bin"});
  std::vector<at::Tensor> pieces;
  for (const auto& path : files) try {
      pieces.push_back(map_tokens(path, o.dtype));
    } catch (const Error& error) {
      throw usage_error(error.summary(), path.string(), error.remedy().empty() ? "see dataset.path" : error.remedy());
    }
  const Tokens all(std::move(pieces));
  // The vocabulary of all tokens, so that every part has the same one.
  return make_samples_of_role({.tokens = all,
                               .vocab_size = [all] { return all.greatest() + 1; },
                               .name = files_in_words(files),
                               .preprocessing = nullptr,
                               .holds = false},
                              o, context);
}

const bool tokens_registered = registry().add<TokensOptions>(
    "tokens", "mapped files of tokens: the target is the next token at every place of a block", map_files,
    block_traits());

}  // namespace
}  // namespace ddp::datasets
