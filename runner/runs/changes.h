#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "record/saves/data_files.h"
#include "runs/prepare.h"

namespace ddp::runs {

// A run that goes on from a checkpoint may change its settings. A table of keys in changes.cpp tells which changes
// are refused and which ones get a warning; all others are free. `before`: the settings that trained the checkpoint.

// Returns config::differences of two experiments.
config::Value changes_of(const config::Experiment& before, const config::Experiment& now);

// Returns whether this key of a dataset leaves its samples and their order as they are. `on_bad` decides about files
// that do not decode, and while it was "error" there were none.
bool keeps_samples(const std::string& key);

// Returns whether this is the dataset on which the run trained.
bool same_data(const config::Experiment& before, const config::Experiment& now);

// Throws ddp::Error (usage) if a key has changed that no run may change: the weights predict the target before.
void require_allowed_changes(const config::Experiment& before, const config::Loaded& now);

// Inside an epoch, the settings that order its samples must not change: samples would be skipped or repeated; and after
// a change of ranks the rest of the epoch must have a batch for each rank, if the last one is dropped. Throws
// ddp::Error (usage).
void require_same_order(const Prepared& now);

// Returns a warning if `now` holds out samples on which the run has trained: their measured values are no estimate for
// new data. Empty: it holds out no such samples, or other data take their place.
std::string held_out_after_training(const config::Experiment& before, const config::Experiment& now);

// Returns a warning if the best metric so far was measured on other data, or with another loss; empty: it was not.
// `then`: the files of the data that trained the checkpoint; `files`: the current files.
std::string best_change(const config::Experiment& before, const config::Experiment& now,
                        const std::vector<record::DataFile>& then, const std::vector<record::DataFile>& files);

// Returns the refusal of a checkpoint that does not fit the experiment, with the line of the change that caused it.
Error with_cause(const Error& refusal, const Standing& standing);

// `run FILE --run-id ID` continues the run ID with the run's own settings, so a file that has changed since would have
// no effect. Returns an error (usage) that lists the keys that the file gives and the run has otherwise; nothing if
// there are none. `asked`: the file with `sets`, which change the run as --set of `resume` does.
std::optional<Error> other_settings(const config::Loaded& asked, const record::RunDirectory& run,
                                    const std::vector<std::string>& sets);

// Returns the error for a completed run that has no checkpoint: it saved one at its end. Nothing: the run has a
// checkpoint, or has not completed.
std::optional<Error> all_saves_lost(const record::RunDirectory& run);

// `checkpoint`: the one from which the run resumes; empty: none. Throws the error above. If the run completed and its
// last checkpoint is gone, warns that steps are trained again, if this process `tells`.
void check_saves(const record::RunDirectory& run, const std::filesystem::path& checkpoint, bool tells);

}  // namespace ddp::runs
