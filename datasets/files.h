#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::datasets {

// The option `path` of a dataset that reads files: one path, a glob, or a list of these.
config::Option path_option(const std::string& doc);

// The texts of an option that takes one or a list of them, `key` ("dataset.inputs"). Throws ddp::Error (usage) where
// it has none.
std::vector<std::string> one_or_more(const config::Value& option, const std::string& key);

// The files of an option that takes a path, a glob, or a list of these: in the order of the list, those of a glob
// sorted by name. Throws ddp::Error (usage) where it has none, and where a glob matches none.
std::vector<std::filesystem::path> files_of(const config::Value& option, const std::string& key);

// "a.txt", "a.txt and 2 more": some files, at least one, for a message.
std::string files_in_words(const std::vector<std::filesystem::path>& files);

}  // namespace ddp::datasets
