#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/components.h"
#include "config/experiment.h"

namespace ddp::completion {

// A candidate for a word of the command line. If it ends in '/', '=' or '.', the word is not complete yet.
struct Candidate {
  std::string text;
  std::string about = {};  // description, for shells that show one

  bool operator==(const Candidate&) const = default;
};

using Candidates = std::vector<Candidate>;

// Returns a path from its typed form: "~/" is the user's home.
std::filesystem::path with_home(const std::string& path);

// Returns the folders, and the files with one of these endings, that begin with `typed`. Includes hidden ones only if
// `typed` begins its last part with a dot.
Candidates files(const std::string& typed, const std::vector<std::string_view>& endings);
Candidates folders(const std::string& typed);

// Returns the sorted names of the folders in a folder, and of links to folders, that begin with `typed`.
std::vector<std::string> folder_names(const std::filesystem::path& folder, std::string_view typed = "");

// Returns the runs and sweeps under a results folder, by their names: "latest", a name, name/run-id, name/sweep-id/007,
// or an id of at least four characters. Returns folders if a path is typed.
Candidates runs(const std::filesystem::path& results, const std::string& typed);

// Returns the checkpoints from which a run can resume: "latest", "best", and their steps.
Candidates checkpoints(const std::filesystem::path& results, const std::string& run);

// Returns the candidates for the argument of --set, "optimizer.lr=0.1": first a key, "optimizer." or "seed=", then its
// value if there is a choice. `chosen` names the components with their options. `of_sweep`: includes the keys of
// [sweep].
Candidates settings(const std::string& typed, const config::Components& components, const config::Experiment& chosen,
                    bool of_sweep);

}  // namespace ddp::completion
