#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"

// The files of `sources` as a run keeps them: by their names in the run's folder and by their texts. Both are the same
// wherever the original files lie.
namespace ddp::record {

// Returns the names of a plug-in's sources as a run's config.toml gives them: "sources/my_model.cpp".
std::vector<std::string> kept_names(const config::Plugin& plugin);

// Returns the experiment with these names as its sources.
config::Experiment as_kept(const config::Experiment& experiment);

// Returns the hash of each text, headers included: {"my_model.cpp": "0123456789abcdef"}; {} without sources. Throws
// ddp::Error (usage) if a text cannot be read.
config::Value hashes_of_texts(const config::Experiment& experiment);

// Returns one hash of all texts; "" without sources. Throws the errors of hashes_of_texts.
std::string hash_of_texts(const config::Experiment& experiment);

}  // namespace ddp::record
