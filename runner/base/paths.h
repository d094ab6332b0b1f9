#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

// Calls of std::filesystem for code that must not fail with a library's exception. Each throws ddp::Error that names
// the path, the act and the system's reason: of kind usage where it only looks, of kind training where it changes the
// disk.
namespace ddp::paths {

// The working folder. Fails where somebody has deleted it.
std::filesystem::path working_folder();

// The path beginning with "/", without "."; without "..", too, except behind a symbolic link. Fails for a relative path
// where the working folder is gone.
std::filesystem::path absolute(const std::filesystem::path& path);

// The path of an existing file or folder, absolute and without symbolic links.
std::filesystem::path without_links(const std::filesystem::path& path);

// Makes the folder and those above it, where they do not exist yet.
void make_folders(const std::filesystem::path& folder);

// Removes a file, or a folder with its content. A path that does not exist is no error.
void remove_all(const std::filesystem::path& path);

// Renames a file or a folder.
void rename(const std::filesystem::path& from, const std::filesystem::path& to);

// Returns the entries of a folder, in no order.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

// The file of this program.
std::filesystem::path program();

}  // namespace ddp::paths

namespace ddp {

// An exception of the standard library as an error that a person can read: of std::filesystem with the act, the paths
// and the reason; the lack of memory by its name; every other one as a fault of this program. An Error stays as it is.
Error as_error(const std::exception& error);

}  // namespace ddp
