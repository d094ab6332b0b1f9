#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/option/fields.h"

namespace ddp::datasets {

// The option `path` of a dataset that reads files: one path, a glob, or a list of these.
config::Option path_option(const std::string& doc);

// Returns the texts of an option that takes one text or a list. `key` names the option in errors ("dataset.inputs").
// Throws ddp::Error (usage) if the option is empty.
std::vector<std::string> one_or_more(const config::Value& option, const std::string& key);

// Returns the files and folders of an option that takes a path, a glob, or a list of these: in the order of the list,
// and within a glob sorted by name. Throws ddp::Error (usage) if the option is empty or a glob matches no file.
std::vector<std::filesystem::path> paths_of(const config::Value& option, const std::string& key);

// The same for an option that takes no folders: a folder is an error. `endings`: the usual endings of the dataset's
// files, to propose the ones in the folder.
std::vector<std::filesystem::path> files_of(const config::Value& option, const std::string& key,
                                            const std::vector<std::string>& endings);

// Returns "a.txt" or "a.txt and 2 more" for a message; `files` has at least one.
std::string files_in_words(const std::vector<std::filesystem::path>& files);

}  // namespace ddp::datasets
