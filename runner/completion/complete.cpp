#include "completion/complete.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/embedded.h"
#include "base/error.h"
#include "base/text_number.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/load/load.h"
#include "config/load/sweep.h"
#include "record/run_directory.h"
#include "record/run_names.h"

namespace ddp::completion {
namespace fs = std::filesystem;

extern const std::span<const EmbeddedFile> kShells;  // from runner/completion/shells

namespace {

using config::Option;
using Texts = std::vector<std::string>;

// Returns what an option is completed to; empty: nothing.
Completer& completer_of(const CLI::Option* option) {
  static std::map<const CLI::Option*, Completer> all;
  return all[option];
}

bool ends_in_one_of(const std::string& name, const std::vector<std::string_view>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return name.ends_with(e); });
}

template <class Visit>
void each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) visit(*entry);
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

// Returns the sorted names of the folders in a folder, and of links to folders, that begin with `typed`.
std::vector<std::string> folder_names(const fs::path& folder, std::string_view typed = "") {
  std::vector<std::string> names;
  each_entry(folder, [&](const fs::directory_entry& entry) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(typed) && !name.starts_with('.') && is_folder(entry)) names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

// Adds the entries under folder/ of the results folder: run ids under a name, the numbers of trials under a sweep.
void add_inside(Candidates& found, const fs::path& results, const std::string& folder, const std::string& begun) {
  const record::RunDirectory inside(results / folder);
  if (inside.begun()) return;  // a run's folders are not runs
  if (inside.is_sweep()) {
    for (const std::string& number : folder_names(inside.trials(), begun))
      found.push_back({folder + number, "a trial"});
    return;
  }
  for (const std::string& name : folder_names(inside.path(), begun)) {
    const bool is_sweep = record::RunDirectory(inside.path() / name).is_sweep();
    found.push_back({folder + name, is_sweep ? "a sweep" : ""});
    if (is_sweep) found.push_back({folder + name + "/"});
  }
}

// An id alone also names its run.
void add_ids(Candidates& found, const fs::path& results, const std::string& begun) {
  if (begun.size() < record::kShortestPart) return;
  for (const std::string& name : folder_names(results)) {
    for (const std::string& id : folder_names(results / name, begun)) {
      if (id != "latest") found.push_back({id, "of " + name});
    }
  }
}

// The keys of an experiment file, including the options of the chosen components.
class Keys {
 public:
  Keys(const config::Components& components, const config::Experiment& chosen, bool of_sweep)
      : components_(components), top_(config::describe<config::Experiment>()) {
    chosen_ = config::write(chosen);
    config::supply_names(top_, components);
    if (of_sweep) {
      top_.push_back(
          {.name = "sweep", .doc = "the search over settings", .section = config::sweep_options(components)});
    }
    for (const config::ShortForm& form : config::kShortForms) {
      const Option* section = find(top_, form.section);
      if (section == nullptr) continue;
      if (const Option* key = find(section->section, form.key)) top_.push_back(*key);
    }
  }

  const std::vector<Option>& top() const { return top_; }

  // Returns the keys of a section or component; none if the name is neither.
  std::vector<Option> inside(const std::string& name) const {
    const Option* option = find(top_, name);
    if (option == nullptr) return {};
    return option->component_kind.empty() ? option->section : of_component(*option);
  }

  std::optional<Option> at(const std::string& path) const {
    const std::size_t dot = path.find('.');
    const std::vector<Option> keys = dot == std::string::npos ? top_ : inside(path.substr(0, dot));
    const Option* found = find(keys, path.substr(dot + 1));  // npos + 1 is 0
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

 private:
  static const Option* find(const std::vector<Option>& options, const std::string& name) {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
  }

  // Returns the options of the chosen component, or of all components of the kind if none is chosen yet.
  std::vector<Option> of_component(const Option& section) const {
    std::vector<Option> keys = {{.name = "name", .doc = section.doc, .component_kind = section.component_kind}};
    const config::Value chosen = chosen_.value(section.name, config::Value::object());
    const config::Spec* one = components_.find(section.component_kind, chosen.value("name", ""));
    for (const auto& [name, spec] : components_.of(section.component_kind)) {
      if (one != nullptr && &spec != one) continue;
      for (const Option& option : spec.options) {
        if (find(keys, option.name) == nullptr) keys.push_back(option);
      }
    }
    config::supply_names(keys, components_);
    return keys;
  }

  const config::Components& components_;
  std::vector<Option> top_;
  config::Value chosen_;
};

std::string about(const Option& option) {
  if (option.default_value.is_null() || option.default_value == "") return option.doc;
  return option.doc + " (" + option.default_value.dump() + ")";
}

void add(Candidates& found, const std::string& typed, std::string text, const std::string& words) {
  if (text.starts_with(typed)) found.push_back({std::move(text), words});
}

Candidates values(const std::string& typed, const std::string& key, const Option& option,
                  const config::Components& components) {
  Candidates found;
  if (!option.component_kind.empty()) {
    for (const auto& [name, spec] : components.of(option.component_kind)) add(found, typed, key + name, spec.doc);
  }
  for (const std::string& choice : option.choices) add(found, typed, key + choice, "");
  if (std::find(option.types.begin(), option.types.end(), config::Type::boolean) != option.types.end()) {
    for (const char* value : {"true", "false"}) add(found, typed, key + value, "");
  }
  return found;
}

// Returns a path from its typed form: "~/" is the user's home.
fs::path with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return home != nullptr && path.starts_with("~/") ? fs::path(home) / path.substr(2) : fs::path(path);
}

// Includes hidden ones only if `typed` begins its last part with a dot.
Candidates entries(const std::string& typed, const std::vector<std::string_view>& endings) {
  const std::size_t slash = typed.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = typed.substr(0, slash);
  const std::string begun = typed.substr(slash);
  Candidates found;
  each_entry(folder.empty() ? "." : with_home(folder), [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begun) || (name.starts_with('.') && !begun.starts_with('.'))) return;
    if (is_folder(entry)) {
      found.push_back({folder + name + "/"});
    } else if (ends_in_one_of(name, endings)) {
      found.push_back({folder + name});
    }
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
  return found;
}

// Returns the candidates for a key, or for a value of a key, of the experiment whose components `chosen` names.
Candidates settings(const std::string& typed, const config::Components& components, const config::Experiment& chosen,
                    bool of_sweep) {
  const Keys keys(components, chosen, of_sweep);
  Candidates found;
  if (const std::size_t equals = typed.find('='); equals != std::string::npos) {
    const auto option = keys.at(typed.substr(0, equals));
    return option ? values(typed, typed.substr(0, equals + 1), *option, components) : found;
  }
  if (const std::size_t dot = typed.find('.'); dot != std::string::npos) {
    for (const Option& option : keys.inside(typed.substr(0, dot))) {
      add(found, typed, typed.substr(0, dot + 1) + option.name + "=", about(option));
    }
    return found;
  }
  for (const Option& option : keys.top()) {
    const bool takes_text = std::any_of(config::kTextForms.begin(), config::kTextForms.end(),
                                        [&](const config::ShortForm& form) { return option.name == form.section; });
    if (option.section.empty() || takes_text) add(found, typed, option.name + "=", about(option));
    if (!option.section.empty() || !option.component_kind.empty()) add(found, typed, option.name + ".", option.doc);
  }
  return found;
}

const CLI::Option* option_named(const CLI::App& verb, const std::string& name) {
  return name.starts_with("--") ? verb.get_option_no_throw(name) : nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

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

// Returns the named experiment file, or that of the named run. Throws ddp::Error (usage) if the run does not exist.
fs::path experiment_file(const Given& given, Argument argument) {
  if (argument != Argument::run) return with_home(given.arguments.front());
  const auto directory = record::RunDirectory::find(given.results(), given.arguments.front());
  return directory.is_sweep() ? directory.sweep() : directory.config();
}

// Returns the experiment as given so far: its components decide which keys exist.
config::Experiment chosen(const Given& given, Argument argument, const config::Components& components) {
  if (given.arguments.empty()) return {};
  const Texts sets = given.options.contains("--set") ? given.options.at("--set") : Texts();
  for (const Texts& tried : {sets, Texts()}) {
    try {
      return config::load(experiment_file(given, argument), tried, components).experiment;
    } catch (const Error&) {  // incomplete, or not correct yet
    }
  }
  return {};
}

// Returns the argument that the next word belongs to; a word too many is taken for one more of the last.
const CLI::Option* next_argument(const CLI::App& verb, std::size_t given) {
  const CLI::Option* next = nullptr;
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    next = option;
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (given < most) break;
    given -= most;
  }
  return next;
}

Candidates value_of(const CLI::Option* option, const Given& given, const std::string& typed) {
  const Completer& completer = completer_of(option);
  return completer ? completer(given, typed) : Candidates();
}

constexpr std::string_view kProgram = "@program@";

// Quotes a text as one word for any of the three shells.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace

fs::path Given::results() const {
  return with_home(options.contains("--results") ? options.at("--results").back() : "results");
}

CLI::Option* completes(CLI::Option* option, Completer to) {
  completer_of(option) = std::move(to);
  return option;
}

Completer one_of(Texts words) {
  return [words = std::move(words)](const Given&, const std::string& typed) { return starting(words, typed); };
}

Completer files(std::vector<std::string_view> endings) {
  return [endings = std::move(endings)](const Given&, const std::string& typed) { return entries(typed, endings); };
}

Candidates folders(const Given&, const std::string& typed) { return entries(typed, {}); }

Candidates runs(const Given& given, const std::string& typed) {
  const fs::path results = given.results();
  if (typed.starts_with('/') || typed.starts_with('.') || typed.starts_with('~') ||
      typed.starts_with(results.string() + "/")) {
    return folders(given, typed);
  }
  Candidates found;
  const std::size_t slash = typed.rfind('/');
  if (slash != std::string::npos) {
    const std::string folder = typed.substr(0, slash + 1);
    add_inside(found, results, folder, typed.substr(slash + 1));
    return found;
  }
  if (std::string("latest").starts_with(typed)) found.push_back({"latest", "the newest run or sweep"});
  for (const std::string& name : folder_names(results, typed)) {
    found.push_back({name, "its newest run or sweep"});
    if (name == typed) add_inside(found, results, name + "/", "");
  }
  add_ids(found, results, typed);
  return found;
}

Candidates weights(const Given& given, const std::string& typed) {
  Candidates found = runs(given, typed);
  for (Candidate& file : entries(typed, {".safetensors"})) found.push_back(std::move(file));
  return found;
}

Candidates experiments(const Given& given, const std::string& typed) {
  return starting(folder_names(given.results()), typed);
}

Candidates checkpoints(const Given& given, const std::string& typed) {
  Candidates found;
  if (given.arguments.empty()) return found;
  add(found, typed, "latest", "the newest checkpoint");
  add(found, typed, "best", "the checkpoint with the best metric");
  try {
    const auto folder = record::RunDirectory::find(given.results(), given.arguments.front()).checkpoints();
    for (const std::string& name : folder_names(folder, "step-")) {
      if (const auto step = text_number<std::int64_t>(name.substr(5))) add(found, typed, std::to_string(*step), "");
    }
  } catch (const Error&) {  // no existing run is named yet
  }
  return found;
}

Completer settings(Argument argument) {
  return [argument](const Given& given, const std::string& typed) {
    const auto components = config::Components::installed();
    return settings(typed, components, chosen(given, argument, components),
                    /*of_sweep=*/argument == Argument::sweep_file);
  };
}

Candidates complete(const CLI::App& app, const Texts& words) {
  if (words.size() < 2) return verbs(app, words.empty() ? "" : words.front());
  const auto named = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == words.front(); });
  if (named.empty()) return {};
  const CLI::App& verb = *named.front();
  const Given given = read(verb, Texts(words.begin() + 1, words.end() - 1));
  const std::string& typed = words.back();
  if (!given.awaited.empty()) return value_of(option_named(verb, given.awaited), given, typed);
  if (given.only_arguments || !typed.starts_with('-')) {
    return value_of(next_argument(verb, given.arguments.size()), given, typed);
  }
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) return options(verb, typed);
  Candidates found = value_of(option_named(verb, typed.substr(0, equals)), given, typed.substr(equals + 1));
  for (Candidate& candidate : found) candidate.text.insert(0, typed, 0, equals + 1);
  return found;
}

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : kShells) names.emplace_back(file.name);
  return names;
}

std::string shell_script(const std::string& shell, const fs::path& program) {
  for (const EmbeddedFile& file : kShells) {
    if (file.name != shell) continue;
    std::string script(file.text);
    return script.replace(script.find(kProgram), kProgram.size(), quoted(program.string()));
  }
  throw usage_error("no completion for \"" + shell + "\"", "", "use bash, zsh or fish");
}

}  // namespace ddp::completion
