#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/source.h"
#include "config/text/toml.h"

namespace ddp::config {

// An experiment with the place of each of its keys, for errors that only a later check finds.
class Loaded {
 public:
  Experiment experiment;

  // An error about the key `path` ("distributed.backend") that shows the line that set it. For a key that was not
  // given, it shows the key and the file.
  Error error(const std::string& path, const std::string& what, const std::string& remedy = "") const;
  // The place of the key: "basic.toml:3:1"; for a key that was not given, the file.
  std::string where(const std::string& path) const;
  // Was the key given: in the file, in a file that it extends, or by --set?
  bool given(const std::string& path) const;
  // Returns the key to blame for a mistake of the section `path`: the only one of its keys that --set or a sweep's
  // value replaces, or else `path`.
  std::string blamed(const std::string& path) const;

  std::map<std::string, SourceRange> places;
  std::set<std::string> replaced = {};  // the keys that --set or a sweep's value replaces in a section of the file
  std::string file;
  std::int64_t model_devices = 1;  // the most devices of a rank that the model can use
  Strategy strategy = {};
  bool holds_data = false;               // the dataset holds tensors in memory that ranks can share
  std::set<std::string> libraries = {};  // libraries that the datasets need (base/installation.h)
};

// A file of the key `sources` and the place that names it.
struct NamedSource {
  std::string path;  // absolute
  SourceRange place;
};

// Returns the files of the key `sources`. They add components to an experiment or a sweep, so they are read before its
// check. Returns an empty list if the file cannot be read or the key is no list of texts; load() reports that.
std::vector<NamedSource> named_sources(const std::filesystem::path& file, const std::vector<std::string>& sets);

// Builds an experiment from its composed settings and adds their mistakes to `mistakes`. `file` names the experiment in
// messages.
Loaded check_root(Node root, const std::filesystem::path& file, const Components& components, Mistakes& mistakes);

// Gives a file without a loss the loss that fits its dataset's targets.
void supply_loss(Node& root, const Components& components, Mistakes& mistakes);

// Returns the name of an experiment whose file gives none: the file's name, or a similar one that can name a folder.
std::string name_of_file(const std::filesystem::path& file);

// Reads an experiment file, the files that it extends and the --set assignments, and checks the result against the
// known keys and components. Fills in the defaults of component options. Throws one ddp::Error (usage) that shows every
// mistake with file:line:column, source line, what is wrong, what is allowed and the nearest known name.
Loaded load(const std::filesystem::path& file, const std::vector<std::string>& sets, const Components& components);

// The experiment as TOML that load() reads back to the same experiment: every key, including defaults.
std::string to_toml(const Experiment& experiment);

// The JSON Schema of experiment files, draft 4, which taplo and editors read.
Value schema(const Components& components);

// Does the file leave an option of the model for the data to determine?
bool leaves_sizes(const Experiment& experiment);

// Fills in the options of the model that the file leaves to the data. `facts` comes from data::facts_of. Throws
// ddp::Error (usage) if the data do not determine an option, or if a given size cannot fit the data.
void fill_sizes(Experiment& experiment, const Loaded& loaded, const Value& facts);

}  // namespace ddp::config
