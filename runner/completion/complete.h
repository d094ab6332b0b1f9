#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddp::completion {

// A candidate for a word of the command line. If it ends in '/', '=' or '.', the word is not complete yet.
struct Candidate {
  std::string text;
  std::string about = {};  // description, for shells that show one

  bool operator==(const Candidate&) const = default;
};

using Candidates = std::vector<Candidate>;

// The words of a command before the one to complete.
struct Given {
  std::vector<std::string> arguments = {};
  std::map<std::string, std::vector<std::string>> options = {};  // the values of each
  std::string awaited = {};                                      // the option that the next word is a value of
  bool only_arguments = false;

  std::filesystem::path results() const;
};

// Returns the candidates that begin with `typed`.
using Completer = std::function<Candidates(const Given& given, const std::string& typed)>;

// Says what an argument, or the value of an option, is completed to. Returns the option.
CLI::Option* completes(CLI::Option* option, Completer to);

Completer one_of(std::vector<std::string> words);
// Folders, and files with one of these endings.
Completer files(std::vector<std::string_view> endings);
Candidates folders(const Given& given, const std::string& typed);
// The runs and sweeps under the results folder, by their names: "latest", a name, name/run-id, name/sweep-id/007, or an
// id of at least four characters. Folders if a path is typed.
Candidates runs(const Given& given, const std::string& typed);
// The same, and files of weights.
Candidates weights(const Given& given, const std::string& typed);
// The names of experiments that have results.
Candidates experiments(const Given& given, const std::string& typed);
// The checkpoints of the run that the first argument names: "latest", "best", and their steps.
Candidates checkpoints(const Given& given, const std::string& typed);
// The kind of a command's first argument; --set changes its settings.
enum class Argument { file, sweep_file, run };
// Values of --set, "optimizer.lr=0.1": first a key, "optimizer." or "seed=", then its value if there is a choice.
Completer settings(Argument argument);

// Returns the candidates for the last word: commands and options of the command line `app`, and what its options are
// completed to. `words`: the words behind the program's name; the last one may be empty.
Candidates complete(const CLI::App& app, const std::vector<std::string>& words);

// Returns bash, zsh and fish.
std::vector<std::string> shells();

// Returns the script with which a shell completes ddp-exp; the script calls `program`. Throws ddp::Error (usage) if the
// shell has none.
std::string shell_script(const std::string& shell, const std::filesystem::path& program);

}  // namespace ddp::completion
