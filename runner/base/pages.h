#pragma once

#include <cstdint>

namespace ddp {

// Page size; direct I/O writes whole pages.
inline constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace ddp
