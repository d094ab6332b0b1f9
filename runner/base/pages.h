#pragma once

#include <cstdint>

namespace ddp {

// What memory is given out in, and what a direct write takes whole ones of.
inline constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace ddp
