#include "commands/train/other_settings.h"

#include <algorithm>
#include <utility>

#include "base/own_command.h"
#include "commands/sets.h"
#include "config/check/files.h"
#include "config/difference.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"

namespace ddp::commands {
namespace {

constexpr std::size_t kMostListed = 6;

// A default or a size that the run has taken from its data is not in the file.
bool in_file(const config::Loaded& asked, const std::string& key) {
  constexpr std::string_view kOfName = ".name";
  return asked.given(key) || (key.ends_with(kOfName) && asked.given(key.substr(0, key.size() - kOfName.size())));
}

// Returns whether the run's value is the asked one as the run resolved it: "auto" or a number became a list of devices,
// and two keys became others.
bool is_resolved(const std::string& key, const config::Value& asked, const config::Value& kept,
                 const record::RunDirectory& run) {
  if (asked == "auto") return true;
  if (kept.is_array()) return asked.is_number_integer() && asked == kept.size();
  if (!kept.is_null()) return false;
  if (key != "global_batch_size") return key == "devices_per_rank";
  const auto checkpoint = record::newest_whole(run.checkpoints());
  return checkpoint.empty() || asked == record::position_of(checkpoint).global_batch_size;
}

std::string samples_of(const config::Experiment& e) {
  return record::hash_of_samples(record::content_samples(record::data_files(e)));
}

// Returns true if the key names files that only lie in another folder.
bool moved(const std::string& key, const config::Experiment& before, const config::Experiment& now) {
  const auto names = [&](const config::Experiment& e) {
    const auto files = config::named_files(e);
    return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.key == key; });
  };
  return names(before) && names(now) && samples_of(before) == samples_of(now);
}

std::optional<config::Experiment> experiment_of(const record::RunDirectory& run, const std::vector<std::string>& sets,
                                                const config::Components& components) try {
  return config::load(run.config(), sets, components).experiment;
} catch (const Error&) {
  return {};  // the resume itself reports it
}

std::string as_set(const std::string& key, const config::Value& value) {
  return key + "=" + (value.is_string() ? as_toml(value.get<std::string>()) : value.dump());
}

}  // namespace

std::optional<Error> other_settings(const config::Loaded& asked, const record::RunDirectory& run,
                                    const std::vector<std::string>& sets) {
  const auto before = experiment_of(run, sets, asked.experiment.components());
  if (!before) return {};
  const config::Value changes =
      config::differences(config::write(record::as_kept(*before)), config::write(record::as_kept(asked.experiment)));
  std::vector<std::string> shown;
  std::vector<std::string> as_sets;
  for (const auto& [key, change] : changes.items()) {
    if (key == "init_from" || !in_file(asked, key) || is_resolved(key, change.at(1), change.at(0), run)) continue;
    if (moved(key, *before, asked.experiment)) continue;
    shown.push_back("\n  " + config::change_in_words(key, change));
    as_sets.push_back(as_set(key, change.at(1)));
  }
  if (shown.empty()) return {};
  std::string list;
  for (std::size_t i = 0; i < std::min(shown.size(), kMostListed); ++i) list += shown[i];
  if (shown.size() > kMostListed) list += "\n  …";
  const std::string resume = own_command("resume " + path_word(run.path()));
  return usage_error("this run has other settings than " + asked.file + ":" + list, run.path().string(),
                     "continue it as it is: " + resume + "\n  continue it with the file's settings: " +
                         with_sets(resume, as_sets) + "\n  begin another run: without --run-id, or with a new one");
}

}  // namespace ddp::commands
