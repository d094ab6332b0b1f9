#pragma once

#include <filesystem>

#include "config/experiment.h"
#include "record/run_directory.h"

// The settings that trained a checkpoint: the run's config.toml, until a resumed run changes that file. Before the
// change, the checkpoints there receive a config.toml of their own. If the run is then killed before its next save, the
// checkpoint is still compared with the settings that trained it.
namespace ddp::record {

// Returns the file with the settings that trained the checkpoint. An empty `checkpoint`: the run's config.toml.
std::filesystem::path settings_file(const RunDirectory& run, const std::filesystem::path& checkpoint);

// Writes the settings into each complete checkpoint that has none of its own. `settings`: of the run's config.toml
// before it changes. Throws ddp::Error (training).
void keep_settings(const RunDirectory& run, const config::Experiment& settings);

// Writes the settings into the folder of one checkpoint, in place of earlier ones. Throws ddp::Error (training).
void write_settings(const std::filesystem::path& checkpoint, const config::Experiment& settings);

}  // namespace ddp::record
