#include <algorithm>
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

// The numbers at the beginning of a file; none if there are too few to tell their type.
template <class Number>
std::span<const Number> first_numbers(std::string_view bytes) {
  constexpr std::size_t kFewest = 32;
  constexpr std::size_t kLooked = 1 << 16;
  const std::size_t count = std::min(bytes.size() / sizeof(Number), kLooked) & ~std::size_t{1};
  return {reinterpret_cast<const Number*>(bytes.data()), count < kFewest ? 0 : count};
}

// Are they halves of wider numbers? Every second one, from `first` on, is then at most `most`, and of the others some
// are above `least`.
template <class Number>
bool are_halves(std::string_view bytes, std::size_t first, Number most, Number least) {
  const auto numbers = first_numbers<Number>(bytes);
  Number other = 0;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i + first] > most) return false;
    other = std::max(other, numbers[i + 1 - first]);
  }
  return other > least;
}

// Do most of them consist of several narrower numbers? They are then too large, or, in a small vocabulary, large with
// only zeros between.
template <class Number>
bool are_joined(std::string_view bytes) {
  const auto numbers = first_numbers<Number>(bytes);
  const auto joined = std::count_if(numbers.begin(), numbers.end(), [](Number number) {
    return number >= Number{1} << 24 || (number >= Number{1} << 20 && (number & 0xff00) == 0);
  });
  return 2 * joined > std::ssize(numbers);
}

// Returns the type that the numbers have if it is surely not `dtype`, else `dtype`.
std::string fitting_type(std::string_view bytes, const std::string& dtype) {
  const bool is_64_wide = dtype == "int64";
  if (is_64_wide ? are_joined<std::uint64_t>(bytes) : dtype != "uint16" && are_joined<std::uint32_t>(bytes)) {
    return fitting_type(bytes, "uint16");
  }
  if (!is_64_wide && are_halves<std::uint32_t>(bytes, 1, 0, 1)) return "int64";
  // The upper half of a uint32 is at most 3 in vocabularies of up to 2^18 tokens.
  const bool is_32_wide = are_halves<std::uint16_t>(bytes, 1, 0, 1) || are_halves<std::uint16_t>(bytes, 1, 3, 4095);
  return dtype == "uint16" && is_32_wide ? "uint32" : dtype;
}

void require_type(std::string_view bytes, const std::string& dtype, const std::filesystem::path& path) {
  if (are_halves<std::uint16_t>(bytes, 0, 0, 1)) {
    throw usage_error("its numbers are floats, or have another byte order", path.string(),
                      "write tokens as integers: x.astype(\"uint16\").tofile(FILE) in NumPy");
  }
  const std::string type = fitting_type(bytes, dtype);
  if (type == dtype) return;
  throw usage_error("its numbers are not " + dtype + " but " + type, path.string(),
                    "give dataset.dtype = \"" + type + "\"");
}

at::Tensor map_tokens(const std::filesystem::path& path, const std::string& dtype) {
  const at::ScalarType type = type_of(dtype);
  const auto width = c10::elementSize(type);
  const record::InputFile file(path);
  if (file.size() == 0) throw usage_error("is empty", path.string());
  const format::MappedFile mapped = format::map_file(file, path);
  refuse_npy(mapped.bytes, path);
  if (file.size() % width != 0) {
    throw usage_error("has " + std::to_string(file.size()) + " bytes, not a whole number of " + dtype + " tokens",
                      path.string(), "see dataset.dtype");
  }
  require_type(mapped.bytes, dtype, path);
  if (looks_like_text(mapped.bytes)) {
    throw usage_error("holds text, not tokens", path.string(), "dataset.name = \"text\" reads it");
  }
  // from_blob takes a pointer to mutable memory, but nothing may write here: the memory pages are mapped read-only.
  return at::from_blob(
      const_cast<char*>(mapped.bytes.data()), {static_cast<std::int64_t>(file.size() / width)},
      [memory = mapped.memory](void*) {}, at::TensorOptions(type));
}

std::unique_ptr<Dataset> map_files(const TokensOptions& o, const Context& context) {
  if (const TokenData* read = tokens_of_training(context)) return make_samples(*read, o, context);
  const auto files = files_of(o.path, "dataset.path", {".bin"});
  std::vector<at::Tensor> pieces;
  for (const auto& path : files) try {
      pieces.push_back(map_tokens(path, o.dtype));
    } catch (const Error& error) {
      throw usage_error(error.summary(), path.string(), error.remedy().empty() ? "see dataset.path" : error.remedy());
    }
  const Tokens all(std::move(pieces));
  // The vocabulary of all tokens, so that every part has the same one.
  return make_samples({.tokens = all,
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
