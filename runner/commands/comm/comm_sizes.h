#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddp::commands {

// Bytes, as `comm --sizes` says them: "64KiB", or several, "1KiB,3KiB", or a range, "1KiB..64MiB", in which each is
// twice the one before, or "1KiB..64MiB:4" times. Units: B (or none), KiB, MiB, GiB and TiB (or K, M, G, T), KB, MB,
// GB and TB (a thousand each). Throws ddp::Error (usage).
std::vector<std::int64_t> parse_sizes(const std::string& text);

// The same for people: 65536 is "64 KiB", 1000 is "1000 B".
std::string size_in_words(std::int64_t bytes);

}  // namespace ddp::commands
