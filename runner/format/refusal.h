#pragma once

#include <string>

namespace ddp::format {

// Call it in a catch block of code that reads untrusted data. Rethrows a ddp::Error unchanged, and throws other
// exceptions of LibTorch or the standard library as ddp::Error (usage) about `where`, with that remedy.
[[noreturn]] void throw_refusal(const std::string& where, const std::string& remedy = "");

}  // namespace ddp::format
