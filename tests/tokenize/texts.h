#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenize/tokenizer.h"

namespace ddp::tokenize {

// A text from one source.
inline Text text_of(std::string_view bytes) { return {.bytes = bytes, .sources = {{.name = "a.txt"}}}; }

inline std::vector<std::int64_t> ids_of(const Tokenizer& tokenizer, std::string_view bytes) {
  return encode_all(tokenizer, text_of(bytes));
}

}  // namespace ddp::tokenize
