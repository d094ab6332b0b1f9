#pragma once

#include <string>

namespace ddp::format {

// Called while an exception is handled, by what reads data from outside: throws a ddp::Error as it is, and what
// LibTorch or the standard library threw as ddp::Error (usage) about `where`.
[[noreturn]] void throw_refusal(const std::string& where);

}  // namespace ddp::format
