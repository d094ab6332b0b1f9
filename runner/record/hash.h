#pragma once

#include <cstddef>
#include <string>

namespace ddp::record {

// XXH3-64 of the bytes, as 16 hexadecimal digits. Against damage, not against an attacker.
std::string hash_hex(const void* data, std::size_t size);
std::string hash_hex(const std::string& text);

}  // namespace ddp::record
