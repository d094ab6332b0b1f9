#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/strategy.h"
#include "config/text/source.h"

namespace ddp::config {

// An experiment together with where each of its keys was written, for errors that only a later check finds.
class Loaded {
 public:
  Experiment experiment;

  // An error about the key `path` ("distributed.backend"), shown with the line that set it. A key that was
  // not given is shown by its name and the file's.
  Error error(const std::string& path, const std::string& what, const std::string& remedy = "") const;
  // The place of the key: "basic.toml:3:1"; of one that was not given, the file.
  std::string where(const std::string& path) const;
  // Was the key given, in the file, in one it extends or by --set?
  bool given(const std::string& path) const;

  std::map<std::string, Place> places;
  std::string file;
  std::int64_t model_devices = 1;  // how many devices of a rank the model can use
  Strategy strategy = {};
  bool holds_data = false;               // the dataset keeps tensors in memory that ranks can share
  std::set<std::string> libraries = {};  // those that datasets need (base/optional_library.h)
};

// A file of the key `sources`, with the place that names it.
struct NamedSource {
  std::string path;  // absolute
  Place place;
};

// The files of the key `sources`, which add to what an experiment, or a sweep, can name: they are known before it is
// checked. None where the file cannot be read, or the key is no list of texts: load() tells.
std::vector<NamedSource> named_sources(const std::filesystem::path& file, const std::vector<std::string>& sets);

// Reads an experiment file, what it extends, and the --set assignments, and checks all of it against the
// known keys and components; the options of components are filled in with their defaults.
// Throws one ddp::Error (usage) that shows every mistake with file:line:column, source line, what is wrong,
// what is allowed and the nearest known name.
Loaded load(const std::filesystem::path& file, const std::vector<std::string>& sets, const Components& components);

// The experiment as a file that load reads back to the same experiment: every key, defaults included.
std::string to_toml(const Experiment& experiment);

// The JSON Schema (draft 4: what taplo and editors read) of experiment files.
Value schema(const Components& components);

}  // namespace ddp::config
