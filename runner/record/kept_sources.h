#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"

// The files of `sources` as they belong to a run: by their names in its folder and by their texts, the same wherever
// the files lie.
namespace ddp::record {

// The names of a plug-in's sources as the config.toml of a run gives them: "sources/my_model.cpp".
std::vector<std::string> kept_names(const config::Plugin& plugin);

// Returns the experiment with its sources under those names.
config::Experiment as_kept(const config::Experiment& experiment);

// Returns the hash of each text, of the headers too: {"my_model.cpp": "0123456789abcdef"}. {}: there are no sources.
// Throws ddp::Error (usage) where a text cannot be read.
config::Value hashes_of_texts(const config::Experiment& experiment);

// The hash of all texts; "": there are no sources. Throws what hashes_of_texts throws.
std::string hash_of_texts(const config::Experiment& experiment);

}  // namespace ddp::record
