#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "config/experiment.h"
#include "record/run_directory.h"

// The settings that trained a checkpoint: its settings.toml, which is saved with it. A person or a resumed run may
// change the run's config.toml afterwards.
namespace ddp::record {

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

}  // namespace ddp::record
