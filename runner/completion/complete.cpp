#include "completion/complete.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/embedded.h"
#include "base/error.h"
#include "config/load.h"
#include "record/run_directory.h"

namespace ddp::completion {

extern const std::span<const EmbeddedFile> kShells;  // from runner/completion/shells

namespace {

using Texts = std::vector<std::string>;

const std::set<std::string> kOfRuns = {"resume", "fork", "show",    "compare",  "diff",  "report",
                                       "list",   "eval", "predict", "generate", "export"};
const std::vector<std::string_view> kOfTables = {".csv", ".tsv", ".gz", ".parquet", ".feather", ".jsonl"};
const std::set<std::string> kOfFiles = {"run", "plan", "validate", "sweep", "slurm"};

const CLI::Option* option_named(const CLI::App& verb, const std::string& name) {
  return name.starts_with("--") ? verb.get_option_no_throw(name) : nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The words before the last one.
struct Given {
  Texts arguments = {};
  std::map<std::string, Texts> options = {};
  std::string awaited = {};  // the option that the next word is a value of
  bool only_arguments = false;

  std::filesystem::path results() const {
    return with_home(options.contains("--results") ? options.at("--results").back() : "results");
  }
};

Given read(const CLI::App& verb, const Texts& words) {
  Given given;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!given.awaited.empty()) {
      given.options[std::exchange(given.awaited, "")].push_back(word);
    } else if (given.only_arguments || !word.starts_with('-')) {
      given.arguments.push_back(word);
    } else if (word == "--") {
      given.only_arguments = true;
    } else if (const CLI::Option* option = option_named(verb, name); option != nullptr && takes_value(*option)) {
      if (equals == std::string::npos) {
        given.awaited = name;
      } else {
        given.options[name].push_back(word.substr(equals + 1));
      }
    }
  }
  return given;
}

Candidates starting(const Texts& texts, const std::string& typed) {
  Candidates found;
  for (const std::string& text : texts) {
    if (text.starts_with(typed)) found.push_back({text});
  }
  return found;
}

Candidates verbs(const CLI::App& app, const std::string& typed) {
  if (typed.starts_with('-')) return starting({"--help", "--version"}, typed);
  Candidates found;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name().starts_with(typed)) found.push_back({verb->get_name(), verb->get_description()});
  }
  return found;
}

Candidates options(const CLI::App& verb, const std::string& typed) {
  Candidates found;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      // torchrun's options also have a spelling with '_'.
      if (name.find('_') != name.npos || !("--" + name).starts_with(typed)) continue;
      found.push_back({"--" + name, option->get_description()});
    }
  }
  return found;
}

// Returns the experiment file of the named run, or the named file itself. Throws ddp::Error if the run does not exist.
std::filesystem::path experiment_file(const std::string& verb, const Given& given) {
  if (!kOfRuns.contains(verb)) return with_home(given.arguments.front());
  const auto directory = record::RunDirectory::find(given.results(), given.arguments.front());
  return directory.is_sweep() ? directory.sweep() : directory.config();
}

// Returns the experiment as given so far: its components decide which keys exist.
config::Experiment chosen(const std::string& verb, const Given& given, const config::Components& components) {
  if (given.arguments.empty()) return {};
  const Texts sets = given.options.contains("--set") ? given.options.at("--set") : Texts();
  for (const Texts& tried : {sets, Texts()}) {
    try {
      return config::load(experiment_file(verb, given), tried, components).experiment;
    } catch (const Error&) {  // incomplete, or not correct yet
    }
  }
  return {};
}

Candidates value_of(const std::string& option, const std::string& verb, const Given& given, const std::string& typed,
                    const Choices& choices) {
  if (const auto words = choices.find(option); words != choices.end()) return starting(words->second, typed);
  if (option == "--set") {
    const auto components = config::Components::installed();
    return settings(typed, components, chosen(verb, given, components), /*of_sweep=*/verb == "sweep");
  }
  if (option == "--results") return folders(typed);
  if (option == "--init-from") {
    Candidates found = runs(given.results(), typed);
    for (Candidate& file : files(typed, {".safetensors"})) found.push_back(std::move(file));
    return found;
  }
  if (option == "--output") return files(typed, {".html", ".sbatch", ".csv", ".npy"});
  if (option == "--name") return starting(folder_names(given.results()), typed);
  Candidates found;
  if (option != "--from" || given.arguments.empty()) return found;
  for (const auto& candidate : checkpoints(given.results(), given.arguments.front())) {
    if (candidate.text.starts_with(typed)) found.push_back(candidate);
  }
  return found;
}

Candidates argument(const std::string& verb, const Given& given, const std::string& typed, const Choices& choices) {
  if (verb == "predict" && !given.arguments.empty()) return files(typed, kOfTables);
  if (verb == "export" && !given.arguments.empty()) return files(typed, {".safetensors"});
  if (kOfRuns.contains(verb)) return runs(given.results(), typed);
  if (kOfFiles.contains(verb)) return files(typed, {".toml"});
  const auto words = choices.find(verb);
  return words == choices.end() || !given.arguments.empty() ? Candidates() : starting(words->second, typed);
}

constexpr std::string_view kProgram = "@program@";

// Quotes a text as one word for any of the three shells.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace

Candidates complete(const CLI::App& app, const Texts& words, const Choices& choices) {
  if (words.size() < 2) return verbs(app, words.empty() ? "" : words.front());
  const std::string& name = words.front();
  const auto named = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  if (named.empty()) return {};
  const CLI::App* verb = named.front();
  const Given given = read(*verb, Texts(words.begin() + 1, words.end() - 1));
  const std::string& typed = words.back();
  if (!given.awaited.empty()) return value_of(given.awaited, name, given, typed, choices);
  if (given.only_arguments || !typed.starts_with('-')) return argument(name, given, typed, choices);
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) return options(*verb, typed);
  Candidates found = value_of(typed.substr(0, equals), name, given, typed.substr(equals + 1), choices);
  for (Candidate& candidate : found) candidate.text.insert(0, typed, 0, equals + 1);
  return found;
}

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : kShells) names.emplace_back(file.name);
  return names;
}

std::string shell_script(const std::string& shell, const std::filesystem::path& program) {
  for (const EmbeddedFile& file : kShells) {
    if (file.name != shell) continue;
    std::string script(file.text);
    return script.replace(script.find(kProgram), kProgram.size(), quoted(program.string()));
  }
  throw usage_error("no completion for \"" + shell + "\"", "", "use bash, zsh or fish");
}

}  // namespace ddp::completion
