#include "launch/plan/folders_of_sets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/shell_word.h"
#include "config/text/source.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 2> kTrainingNames{"train", "training"};
constexpr std::array<std::string_view, 5> kValidationNames{"val", "valid", "validation", "dev", "eval"};
constexpr std::array<std::string_view, 2> kTestNames{"test", "testing"};

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_directory(gone)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the folder with one of these names, in any case; "": there is none.
template <class Names>
std::string folder_named(const std::vector<std::string>& folders, const Names& names) {
  for (const std::string& folder : folders) {
    std::string lower = folder;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::find(names.begin(), names.end(), lower) != names.end()) return folder;
  }
  return "";
}

// The folders of sets in one folder; "": the set has none.
struct SetFolders {
  std::string train;
  std::string validation;
  std::string test;

  std::string in_words() const {
    std::string text;
    for (const std::string* const name : {&train, &validation, &test}) {
      if (!name->empty()) text += (text.empty() ? "" : ", ") + config::in_quotes(*name);
    }
    return text;
  }
};

// Other folders beside train/ may be classes, unless a set to measure is there too.
bool are_sets(const SetFolders& sets, std::size_t folders) {
  return !sets.train.empty() && (folders == 1 || !sets.validation.empty() || !sets.test.empty());
}

std::string setting(const std::string& key, const fs::path& value) {
  return " --set " + shell_word(key + "=" + value.string());
}

// Returns the settings of a set to measure, unless it has data of its own.
std::string settings_of(const std::string& section, const config::HeldOut& h, const fs::path& folder,
                        const std::string& name) {
  if (name.empty() || !h.dataset.name.empty()) return "";
  const std::string whole = h.split > 0 ? " --set " + section + ".split=0" : "";
  return whole + setting(section + ".dataset.path", folder / name);
}

std::string remedy_for(const config::Experiment& e, const fs::path& folder, const SetFolders& sets) {
  if (folders_in(folder / sets.train).empty()) {
    return "a class is a folder with the images of the class: " + (folder / sets.train / "CLASS/1.jpg").string();
  }
  return "if they are the sets of one dataset:" + setting("dataset.path", folder / sets.train) +
         settings_of("validation", e.validation, folder, sets.validation) +
         settings_of("test", e.test, folder, sets.test);
}

}  // namespace

std::vector<std::string> folders_of_sets(const config::Loaded& loaded) {
  const config::Experiment& e = loaded.experiment;
  const config::Components components = e.components();
  const config::Spec* const dataset = components.find("dataset", e.dataset.name);
  const auto path = e.dataset.options.find("path");
  if (dataset == nullptr || !dataset->traits.value("classes_are_folders", false)) return {};
  if (path == e.dataset.options.end() || !path->is_string()) return {};
  const fs::path folder = path->get<std::string>();
  const std::vector<std::string> folders = folders_in(folder);
  const SetFolders sets{.train = folder_named(folders, kTrainingNames),
                        .validation = folder_named(folders, kValidationNames),
                        .test = folder_named(folders, kTestNames)};
  if (!are_sets(sets, folders.size())) return {};
  return {loaded.where("dataset.path") + ": \"dataset.path\" is " + config::printable(folder.string()) +
          ", whose folders are the classes: " + sets.in_words() + "; " + remedy_for(e, folder, sets)};
}

}  // namespace ddp::launch
