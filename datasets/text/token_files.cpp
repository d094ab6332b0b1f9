#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "base/error.h"
#include "datasets/files.h"
#include "datasets/text/blocks.h"
#include "format/mapped_file.h"
#include "format/npy.h"
#include "record/file/input_file.h"

namespace ddp::datasets {
namespace {

const std::vector<std::string> kTokenTypes = {"uint16", "uint32", "int32", "int64"};

struct TokensOptions : BlockOptions {
  config::Value path;
  std::string dtype = "uint16";
  void fields(config::Fields& f) {
    f(path_option("file of consecutive tokens, such as nanoGPT's train.bin; a glob, or a list of these"), path);
    f({.name = "dtype", .doc = "type of a token", .choices = kTokenTypes}, dtype);
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

// Throws if the file has the header of NumPy's format, which would be read as tokens.
void refuse_npy(std::string_view bytes, const std::filesystem::path& path) {
  if (!bytes.starts_with(format::kNpyMagic)) return;
  const format::NpyHeader header = format::read_npy_header(bytes.substr(0, format::kLargestNpyHeader), path.string());
  const std::string stored = format::name_of(header.element);
  const bool is_readable =
      std::find(kTokenTypes.begin(), kTokenTypes.end(), stored) != kTokenTypes.end() && !header.swapped;
  const std::string type = is_readable ? stored : "uint32";
  throw usage_error("is an .npy file of " + stored + " numbers, and tokens have no header", path.string(),
                    "write them alone: numpy.load(FILE)" + (is_readable ? "" : ".astype(\"" + type + "\")") +
                        ".tofile(\"tokens.bin\"), and give dataset.dtype = \"" + type + "\"");
}

// Returns why the numbers at the beginning of a file may have another width; "" if they look like tokens.
template <class Number>
const char* doubt_of_width(std::string_view bytes) {
  constexpr std::size_t kFewest = 32;
  constexpr std::size_t kLooked = 1 << 16;
  const std::size_t count = std::min(bytes.size() / sizeof(Number), kLooked) & ~std::size_t{1};
  if (count < kFewest) return "";
  const std::span numbers(reinterpret_cast<const Number*>(bytes.data()), count);
  std::array<Number, 2> greatest{};  // of every second number
  std::size_t joined = 0;
  for (std::size_t i = 0; i < count; ++i) {
    greatest[i % 2] = std::max(greatest[i % 2], numbers[i]);
    // Two tokens of a small vocabulary leave zeros between them.
    joined += numbers[i] >> 24 != 0 || (numbers[i] >> 20 != 0 && (numbers[i] & 0xff00) == 0) ? 1 : 0;
  }
  const auto [less, more] = std::minmax(greatest[0], greatest[1]);
  if (2 * joined > count) return "most of its numbers are too large, as if they were narrower, or floats";
  // The upper half of a uint32 is at most 3 in vocabularies of up to 2^18 tokens.
  return less <= 3 && more > 4 * less + 1 ? "every second number is near 0, as if they were wider, or floats" : "";
}

// Returns a warning about what only the bytes themselves tell; "" if they look like tokens.
std::string doubt_of(std::string_view bytes, const std::string& dtype) {
  if (looks_like_text(bytes)) return "looks like text, which dataset.name = \"text\" reads";
  const std::string doubt = dtype == "uint16"  ? doubt_of_width<std::uint16_t>(bytes)
                            : dtype == "int64" ? doubt_of_width<std::uint64_t>(bytes)
                                               : doubt_of_width<std::uint32_t>(bytes);
  return doubt.empty() ? "" : doubt + ": is dataset.dtype = \"" + dtype + "\" right?";
}

// Keeps the first doubt of all files in `warnings`. A stream reads tokens on demand.
Tokens::Piece open_tokens(const std::filesystem::path& path, const std::string& dtype, const Context& context,
                          std::vector<std::string>& warnings) {
  constexpr std::int64_t kHead = 1 << 19;
  const at::ScalarType type = type_of(dtype);
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  const std::shared_ptr<const format::Bytes> file = context.open(path);
  if (file->size() == 0) throw usage_error("is empty", path.string());
  std::string head(static_cast<std::size_t>(std::min(file->size(), kHead)), '\0');
  file->read(0, std::ssize(head), head.data());
  refuse_npy(head, path);
  if (file->size() % width != 0) {
    throw usage_error("has " + std::to_string(file->size()) + " bytes, not a whole number of " + dtype + " tokens",
                      path.string(), "see dataset.dtype");
  }
  const std::string doubt = warnings.empty() ? doubt_of(head, dtype) : "";
  if (!doubt.empty()) warnings.push_back(path.string() + ": " + doubt);
  const std::int64_t count = file->size() / width;
  if (context.window > 0) return {.file = file, .type = type, .count = count};
  const format::MappedFile mapped = format::map_file(record::InputFile(path), path);
  // from_blob takes a pointer to mutable memory, but nothing may write here: the memory pages are mapped read-only.
  return {
      .numbers = at::from_blob(
          const_cast<char*>(mapped.bytes.data()), {count}, [memory = mapped.memory](void*) {}, at::TensorOptions(type)),
      .count = count};
}

std::unique_ptr<Dataset> map_files(const TokensOptions& o, const Context& context) {
  if (const TokenData* read = tokens_of_training(context)) return make_samples(*read, o, context);
  const auto files = files_of(o.path, "dataset.path", {".bin"});
  std::vector<Tokens::Piece> pieces;
  std::vector<std::string> warnings;
  for (const auto& path : files) try {
      pieces.push_back(open_tokens(path, o.dtype, context, warnings));
    } catch (const Error& error) {
      throw usage_error(error.summary(), path.string(), error.remedy().empty() ? "see dataset.path" : error.remedy());
    }
  const Tokens all(std::move(pieces));
  // The vocabulary of all tokens, so that every part has the same one.
  return make_samples({.tokens = all,
                       .vocab_size = [all] { return all.greatest() + 1; },
                       .name = files_in_words(files),
                       .preprocessing = nullptr,
                       .holds = false,
                       .warnings = std::move(warnings)},
                      o, context);
}

const bool tokens_registered = registry().add<TokensOptions>(
    "tokens", "mapped files of tokens: the target is the next token at every place of a block", map_files, [] {
      config::Value traits = block_traits();
      traits["streams"] = true;
      return traits;
    }());

}  // namespace
}  // namespace ddp::datasets
