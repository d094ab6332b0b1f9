#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/load/load.h"

namespace ddp::config {

// A file or folder that an option of an experiment names, or the copy that is read in its place.
struct NamedFile {
  std::string key;                    // "dataset.path"
  std::string path;                   // a URL, if the program has not looked at its objects yet
  std::optional<Object> object = {};  // of which this is the copy
};
std::vector<NamedFile> named_files(const Experiment& experiment);

// Returns the files that the chosen components read by default, if no option names one: their trait "default_files".
// The paths are relative to the folders of default_places (base/installation.h).
std::vector<std::string> default_files(const Experiment& experiment);

// Returns an error about the file of a model at the place of the option that names it; other errors unchanged.
Error at_model_option(const Loaded& loaded, const Error& error);

// Returns the usage error for the missing file `path` if an option names it.
std::optional<Error> missing_file(const Loaded& loaded, const std::string& path);

// Returns a usage error for each file that an option names but that does not exist.
std::vector<Error> missing_files(const Loaded& loaded);

}  // namespace ddp::config
