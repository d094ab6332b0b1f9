#pragma once

#include <string>

#include "config/experiment.h"
#include "config/sweep.h"
#include "record/run_directory.h"

// The files of `sources` as they belong to a run: it keeps the texts that were compiled, in its folder "sources", and
// goes on with them whatever becomes of the files.
namespace ddp::launch {

// Writes the texts into the folder of a run, or of a sweep, and returns its config.toml, or sweep.toml. Throws
// ddp::Error (training) where the texts cannot be written.
std::string text_for(const config::Experiment& experiment, const record::RunDirectory& run);
std::string text_for(const config::LoadedSweep& sweep, const record::RunDirectory& directory);

// Warns of files that have changed since this run began, and says how the run takes them. Silent where `now` has other
// sources than the run's own.
void tell_changed_sources(const config::Experiment& now, const record::RunDirectory& run);

// The line by which node 0 tells other nodes what the texts are, in front of the experiment; "": there are no sources.
std::string sources_mark(const config::Experiment& experiment);
// Throws ddp::Error (usage) that names a file of this one's sources whose text is not what that line tells.
void require_sources_of(const std::string& told, const config::Experiment& experiment);

}  // namespace ddp::launch
