// The two files of a GPT-2 tokenizer, with a zero byte between them.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "target.h"
#include "tokenize/tokenizer.h"

namespace {

using namespace ddp;
using tokenize::Text;

constexpr const char* kText = "it's 2024:  the theatre of K\xC3\xB6ln\n\n \xE6\x9D\xB1\xE4\xBA\xAC ...";

void require_round_trip(const tokenize::Tokenizer& tokenizer) {
  const auto ids = tokenize::encode_all(tokenizer, Text{.bytes = kText, .sources = {}});
  for (const auto id : ids) fuzz::require(id >= 0 && id < tokenizer.vocab_size(), "ids lie in the vocabulary");
  fuzz::require(tokenizer.decode(ids) == kText, "a text that was encoded is decoded to itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(bytes.find('\0'), size);
  fuzz::scratch_file("vocab.json", bytes.substr(0, zero));
  fuzz::scratch_file("merges.txt", bytes.substr(std::min(zero + 1, size)));
  try {
    const auto made = tokenize::make_tokenizer(fuzz::scratch_folder().string(), Text());
    require_round_trip(*made.tokenizer);
    require_round_trip(*tokenize::tokenizer_from_json(config::Value::parse(tokenize::to_json(made).dump())).tokenizer);
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
