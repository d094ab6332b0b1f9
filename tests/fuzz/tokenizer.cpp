// The two files of a GPT-2 tokenizer, with a zero byte between them, or a tokenizer.json.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "target.h"
#include "tokenize/tokenizer.h"

namespace {

using namespace ddp;
using tokenize::Text;

constexpr const char* kText = "it's 2024:  the theatre of K\xC3\xB6ln\n\n \xE6\x9D\xB1\xE4\xBA\xAC ...";

// A tokenizer.json may change a text; GPT-2's tokenizer does not.
void require_ids(const tokenize::Tokenizer& tokenizer, bool same_text) {
  const auto ids = tokenize::encode_all(tokenizer, Text{.bytes = kText, .sources = {}});
  for (const auto id : ids) fuzz::require(id >= 0 && id < tokenizer.vocab_size(), "ids lie in the vocabulary");
  const std::string decoded = tokenizer.decode(ids);
  fuzz::require(!same_text || decoded == kText, "a text that was encoded is decoded to itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = bytes.find('\0');
  const bool folder = zero != bytes.npos;
  fuzz::scratch_file(folder ? "vocab.json" : "tokenizer.json", bytes.substr(0, zero));
  if (folder) fuzz::scratch_file("merges.txt", bytes.substr(zero + 1));
  try {
    const auto path = folder ? fuzz::scratch_folder() : fuzz::scratch_folder() / "tokenizer.json";
    const auto made = tokenize::make_tokenizer(path.string(), Text());
    require_ids(*made.tokenizer, folder);
    require_ids(*tokenize::tokenizer_from_json(config::Value::parse(tokenize::to_json(made).dump())).tokenizer, folder);
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
