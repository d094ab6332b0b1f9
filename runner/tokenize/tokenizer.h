#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/option/value.h"
#include "config/registry.h"

// Tokenizers convert text to the numbers that a model reads, and back. A tokenizer is one file in this folder that
// registers itself. preprocessing.json stores its options, which suffice to create it again without the training text.
// This folder does not use torch.
namespace ddp::tokenize {

// The concatenated text of files, or of the command line.
struct Text {
  struct Source {
    std::string name;       // of the file, or of the command-line option
    std::size_t begin = 0;  // offset of its first byte in `bytes`
  };

  std::string_view bytes = {};
  std::vector<Source> sources = {};

  // Names the byte at `place` in an error: "notes.txt: byte 17", counted from 0 in its own file.
  std::string where(std::size_t place) const;
};

// Receives some ids in the order of the text.
using TakeIds = std::function<void(std::span<const std::int32_t> ids)>;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Ids are in [0, vocab_size).
  virtual std::int64_t vocab_size() const = 0;
  // Passes the ids of a text to `take`, piece by piece. Throws ddp::Error (usage) with the position of the first byte
  // that cannot be encoded. Thread-safe.
  virtual void encode(const Text& text, const TakeIds& take) const = 0;
  // Returns the bytes of a text that begins with these ids; some tokenizers leave out its first blank. A few tokens
  // alone may end within a character. Throws ddp::Error (usage) for an invalid id.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
  // Returns the options from which the registered builder creates the same tokenizer without a text.
  virtual config::Value options() const = 0;
};

// Builds a tokenizer from its options, and from the text if the options do not give the vocabulary. A tokenizer with
// the trait {"reads", "folder"} reads its files from the folder in its option "folder", with "file" from a file; the
// others are chosen by name.
using TokenizerRegistry = config::Registry<std::unique_ptr<Tokenizer>, const Text&>;
TokenizerRegistry& tokenizers();

// The tokenizers that are chosen by name: "byte", "char".
std::vector<std::string> tokenizer_names();

// A tokenizer with its name.
struct NamedTokenizer {
  std::string name = {};
  std::shared_ptr<const Tokenizer> tokenizer = {};
};

// Returns the tokenizer with this name, of this file, or of the files in this folder. `text` is the whole text:
// training part and the rest.
NamedTokenizer make_tokenizer(const std::string& name_or_path, const Text& text);

// The JSON in preprocessing.json, {"name": "char", "characters": "\n abc"}, and back. tokenizer_from_json throws
// ddp::Error (usage) if the JSON does not describe a tokenizer.
config::Value to_json(const NamedTokenizer& named);
NamedTokenizer tokenizer_from_json(const config::Value& json);

// Returns all ids of a text.
std::vector<std::int64_t> encode_all(const Tokenizer& tokenizer, const Text& text);

// Throws ddp::Error (usage) with the position of the first byte that is not UTF-8. Each source must be UTF-8 by itself.
void require_utf8(const Text& text);

}  // namespace ddp::tokenize
