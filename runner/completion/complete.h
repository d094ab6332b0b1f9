#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddp::completion {

// A candidate for a word of the command line. If it ends in '/', '=' or '.', the word is not complete yet.
struct Candidate {
  std::string text;
  std::string about = {};  // description, for shells that show one

  bool operator==(const Candidate&) const = default;
};

using Candidates = std::vector<Candidate>;

// The allowed values of commands and options that have a fixed set of them, by command or option.
using Choices = std::map<std::string, std::vector<std::string>>;

// Returns the candidates for the last word: commands and options of the command line `app`, experiment files, runs,
// settings. `words`: the words behind the program's name; the last one may be empty.
Candidates complete(const CLI::App& app, const std::vector<std::string>& words, const Choices& choices);

// Returns bash, zsh and fish.
std::vector<std::string> shells();

// Returns the script with which a shell completes ddp-exp; the script calls `program`. Throws ddp::Error (usage) if the
// shell has none.
std::string shell_script(const std::string& shell, const std::filesystem::path& program);

}  // namespace ddp::completion
