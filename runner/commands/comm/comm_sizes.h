#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ddp::commands {

// Parses the bytes of `comm --sizes`: "64KiB"; several, "1KiB,3KiB"; a range, "1KiB..64MiB", in which each size is
// twice the one before; or "1KiB..64MiB:4" with the factor 4. Units: B (or none), KiB, MiB, GiB and TiB (or K, M, G,
// T); KB, MB, GB and TB (powers of 1000). Throws ddp::Error (usage).
std::vector<std::int64_t> parse_sizes(const std::string& text);

// Returns a size for people: 65536 is "64 KiB", 1000 is "1000 B".
std::string size_in_words(std::int64_t bytes);

}  // namespace ddp::commands
