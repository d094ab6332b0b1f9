#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace ddp::config {

// A file or folder that an option of an experiment names.
struct NamedFile {
  std::string key;  // "dataset.path"
  std::string path;
};
std::vector<NamedFile> named_files(const Experiment& experiment, const Components& components);

// The files that the chosen components read where no option names one: their trait "default_files". They are relative
// to the folders of default_places (base/installation.h).
std::vector<std::string> default_files(const Experiment& experiment, const Components& components);

// Returns an error (usage) for each file that does not exist although an option of the experiment names it.
std::vector<Error> missing_files(const Loaded& loaded, const Components& components);

}  // namespace ddp::config
