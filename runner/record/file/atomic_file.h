#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ddp::record {

// Puts a whole file in place at once: written beside it, fsynced, renamed. A reader sees the old text or the
// new one. Throws ddp::Error (training).
void write_atomically(const std::filesystem::path& file, const std::string& text);

// Points a symbolic link at `target` (relative to the link's folder), replacing the old link at once.
void link_atomically(const std::filesystem::path& link, const std::string& target);

// Makes the folder's entries (files created, renamed) survive a power cut.
void sync_folder(const std::filesystem::path& folder);

// The text of a regular file. Throws ddp::Error (usage) when it cannot be read, or is larger than `most` bytes: nobody
// wrote so much.
std::string read_text(const std::filesystem::path& file, std::uint64_t most = 64 << 20);

}  // namespace ddp::record
