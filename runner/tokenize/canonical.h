#pragma once

#include <string>
#include <string_view>

namespace ddp::tokenize {

// Returns a valid text in Unicode's normalization form NFD, and with `composed` in NFC (The Unicode Standard,
// section 3.11), as the package tokenizers does: characters that are newer than Unicode 9 stay as they are.
std::string canonical(std::string_view text, bool composed);

}  // namespace ddp::tokenize
