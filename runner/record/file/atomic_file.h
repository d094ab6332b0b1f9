#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "config/option/fields.h"
#include "config/text/json_text.h"

namespace ddp::record {

// Replaces a whole file at once: writes a file beside it, fsyncs, renames. A reader sees the old text or the new text.
// Throws ddp::Error (training).
void write_atomically(const std::filesystem::path& file, const std::string& text);

// Writes a new file, not yet to disk. Throws ddp::Error (training).
void write_file(const std::filesystem::path& file, const std::string& text);

// Waits until no other process has its turn at this folder. The turn ends with the descriptor. On a file system without
// locks there are no turns. Throws ddp::Error (training).
FileDescriptor take_turn(const std::filesystem::path& folder);

// Points a symbolic link at `target` (relative to the link's folder). Replaces the old link at once. A folder in its
// place gets the name `folder_aside`, with a warning; hidden, it is not taken for a run.
inline constexpr const char* kCopyOfLatest = ".latest-copy";
void link_atomically(const std::filesystem::path& link, const std::string& target,
                     const std::string& folder_aside = kCopyOfLatest);

// Makes the folder's entries (created and renamed files) survive a power cut.
void sync_folder(const std::filesystem::path& folder);

// Makes the folder's files and entries survive a power cut. Throws ddp::Error (training).
void sync_files(const std::filesystem::path& folder);

// Returns the text of a regular file. Throws ddp::Error (usage) if the file cannot be read or is larger than `most`
// bytes: no file of this program is that large.
std::string read_text(const std::filesystem::path& file, std::uint64_t most = 64 << 20);

// Reads JSON that config::written() made of a T; it may be damaged. `file` names it in errors. Throws ddp::Error
// (usage) that says what is wrong.
template <class T>
T parse_kept(const std::string& text, const std::filesystem::path& file) try {
  return config::read_written<T>(config::parse_value(text));
} catch (const std::exception& error) {
  throw usage_error(std::string("is damaged: ") + error.what(), file.string());
}
template <class T>
T read_kept(const std::filesystem::path& file) {
  return parse_kept<T>(read_text(file), file);
}

}  // namespace ddp::record
