#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

// Wrappers of std::filesystem for code that must not fail with a library's exception. Each throws a ddp::Error that
// names the path, the operation and the system's reason: usage if the call only reads, training if it changes the disk.
namespace ddp::paths {

// The working folder. Fails if it has been deleted.
std::filesystem::path working_folder();

// Returns the path beginning with "/" and without "."; also without "..", except behind a symbolic link. Fails for a
// relative path if the working folder has been deleted.
std::filesystem::path absolute(const std::filesystem::path& path);

// Returns the path of an existing file or folder, absolute and without symbolic links.
std::filesystem::path without_links(const std::filesystem::path& path);

// Creates the folder and its missing parents.
void make_folders(const std::filesystem::path& folder);

// Throws ddp::Error (usage) if the folder, or one above it, is a link to nothing.
void refuse_dangling_link(const std::filesystem::path& folder);

// Removes a file, or a folder with its content. A missing path is no error.
void remove_all(const std::filesystem::path& path);

// Removes the entries with this prefix and extension (nothing: any), except for the `kept` newest.
void remove_oldest(const std::filesystem::path& cache, const std::string& prefix,
                   const std::optional<std::string>& extension, std::size_t kept);

// Renames a file or a folder.
void rename(const std::filesystem::path& from, const std::filesystem::path& to);

// Returns the entries of a folder, in no order.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

// Returns the bytes that a folder's files take on disk, each file once. What cannot be read counts as nothing.
std::int64_t size_on_disk(const std::filesystem::path& folder);

// The executable file of this program.
std::filesystem::path program();

}  // namespace ddp::paths

namespace ddp {

// Converts an exception of the standard library into an error that a person can read. A std::filesystem error keeps its
// operation, paths and reason; std::bad_alloc becomes "not enough memory"; any other exception becomes an internal
// error of this program. An Error stays unchanged.
Error as_error(const std::exception& error);

inline constexpr std::size_t kLongestSafeName = 128;

// Returns whether a user may give this name to a folder that must stay below another one: letters, digits, '.', '_' and
// '-', not beginning with '.' or '-', at most kLongestSafeName characters.
bool is_safe_name(const std::string& name);

}  // namespace ddp
