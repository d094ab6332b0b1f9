#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/option/value.h"
#include "record/run_directory.h"

namespace ddp::record {

// The settings that trained a checkpoint: its settings.toml, which is saved with it. A person or a resumed run may
// change the run's config.toml afterwards.

// In the folder of a checkpoint. A config.toml would make it look like the folder of a run.
inline constexpr const char* kSettings = "settings.toml";
// The names that the file may have. Checkpoints of older versions have none, or a config.toml.
inline constexpr std::array kSettingsNames{kSettings, "config.toml"};

// Returns the file with the settings that trained the checkpoint. An empty `checkpoint`: the run's config.toml.
std::filesystem::path settings_file(const RunDirectory& run, const std::filesystem::path& checkpoint);

// The same for the newest complete checkpoint.
std::filesystem::path newest_settings(const RunDirectory& run);

// Returns the text of a checkpoint's settings.toml.
std::string settings_of_checkpoint(const config::Experiment& settings);

// Writes the settings into each complete checkpoint that has none of its own. `settings`: of the run's config.toml
// before it changes. Throws ddp::Error (training).
void keep_settings(const RunDirectory& run, const config::Experiment& settings);

// Writes the settings into the folder of one checkpoint, in place of earlier ones. Throws ddp::Error (training).
void write_settings(const std::filesystem::path& checkpoint, const config::Experiment& settings);

// The files of `sources` as a run keeps them: by their names in the run's folder and by their texts. Both are the same
// wherever the original files lie.

// Returns the names of a plug-in's sources as a run's config.toml gives them: "sources/my_model.cpp".
std::vector<std::string> kept_names(const config::Plugin& plugin);

// Returns the experiment with these names as its sources.
config::Experiment as_kept(const config::Experiment& experiment);

// Returns the hash of each text, headers included: {"my_model.cpp": "0123456789abcdef"}; {} without sources. Throws
// ddp::Error (usage) if a text cannot be read.
config::Value hashes_of_texts(const config::Experiment& experiment);

// Returns one hash of all texts; "" without sources. Throws the errors of hashes_of_texts.
std::string hash_of_texts(const config::Experiment& experiment);

// The rules of [stop] that end a run before its last step, as state.json and summary.json name them.
inline constexpr const char* kPatience = "patience";
inline constexpr const char* kMaxTime = "max_time";

// Does a run that the rule `ended_by` ended stay ended under this experiment file? Its [stop] may have new values.
// `stop`: the numbers of the rule "stop" at the end of the run. `seconds`: its training time. Patience may also have
// been exhausted when the run ended after all steps (kAllSteps): then more steps do not let it continue.
bool still_ended(const config::Experiment& experiment, const std::string& ended_by, const config::Value& stop,
                 double seconds);

}  // namespace ddp::record
