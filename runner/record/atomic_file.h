#pragma once

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

// The file's text. Throws ddp::Error (usage) when it cannot be read.
std::string read_text(const std::filesystem::path& file);

}  // namespace ddp::record
