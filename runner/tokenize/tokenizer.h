#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/registry.h"
#include "config/value.h"

// Tokenizers: text to the numbers that a model reads, and back. A tokenizer is one file in this folder, which registers
// itself. Its options are what preprocessing.json keeps of it, so that it can be made again without the training text.
// No torch here.
namespace ddp::tokenize {

// A text that came from files, or from the command line, one behind the other.
struct Text {
  struct Source {
    std::string name;       // of the file, or of the option that gave it
    std::size_t begin = 0;  // its first byte in `bytes`
  };

  std::string_view bytes = {};
  std::vector<Source> sources = {};

  // Names the byte at `place` for an error: "notes.txt: byte 17", counted from 0 in its own file.
  std::string where(std::size_t place) const;
};

// Takes some ids, in the order of the text.
using TakeIds = std::function<void(std::span<const std::int32_t> ids)>;

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Ids are in [0, vocab_size).
  virtual std::int64_t vocab_size() const = 0;
  // Gives the ids of a text, piece by piece; there are at most as many as the text has bytes. Throws ddp::Error (usage)
  // with the place of the first byte that cannot be encoded. Safe from several threads.
  virtual void encode(const Text& text, const TakeIds& take) const = 0;
  // Returns the bytes of these ids. Those of a few tokens alone may be no whole characters. Throws ddp::Error (usage)
  // for an id that is none.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;
  // Returns the options by which its registered builder makes it again without a text.
  virtual config::Value options() const = 0;
};

// A builder makes a tokenizer from its options, or where they leave the vocabulary open, for the text. The trait
// {"reads", "folder"}: its files lie in the folder that its option "folder" names; others are chosen by their names.
using TokenizerRegistry = config::Registry<std::unique_ptr<Tokenizer>, const Text&>;
TokenizerRegistry& tokenizers();

// The tokenizers that are chosen by their names: "byte", "char".
std::vector<std::string> tokenizer_names();

// A tokenizer with its name.
struct NamedTokenizer {
  std::string name = {};
  std::shared_ptr<const Tokenizer> tokenizer = {};
};

// Returns the tokenizer of a name, or that of the files in a folder. `text`: the whole text, training part and the
// rest.
NamedTokenizer make_tokenizer(const std::string& name_or_folder, const Text& text);

// As preprocessing.json keeps it: {"name": "char", "characters": "\n abc"}, and back. The latter throws ddp::Error
// (usage) where the JSON is no tokenizer's.
config::Value to_json(const NamedTokenizer& named);
NamedTokenizer tokenizer_from_json(const config::Value& json);

// Returns all ids of a text.
std::vector<std::int64_t> encode_all(const Tokenizer& tokenizer, const Text& text);

// Throws ddp::Error (usage) with the place of the first byte of a text that is not UTF-8. Each source is UTF-8 by
// itself.
void require_utf8(const Text& text);

}  // namespace ddp::tokenize
