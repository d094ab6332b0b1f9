#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/option/value.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "rank/probe.h"
#include "record/saves/graphs.h"

namespace ddp::launch {

class HeldData;

// Returns the state (size, times and inode) of all files that an experiment reads, and of `more`: a changed content
// changes the state. Returns nothing if a folder holds too many files.
std::optional<config::Value> file_states(const config::Experiment& experiment,
                                         const std::vector<std::filesystem::path>& more = {});

// Replies about experiments that were tried before: one file each in the folder "probes" of the cache folder. The cache
// only saves time at a start: an entry that is missing, damaged or not writable is no error.
//
// A key of everything that decides the result of a try: the build, the resolved experiment except its name, the
// devices, the number of ranks, the checkpoint and the weights, the files that it reads (size, times and inode), and
// the memory limit. "": no key, because a folder that it reads holds too many files.
std::string probe_key(const Plan& plan, const std::filesystem::path& checkpoint, const std::filesystem::path& weights);

// Returns the reply kept under this key, a JSON object; nothing if the cache has none.
std::optional<config::Value> find_reply(const std::string& key);

// Keeps a reply. Beyond 200 entries the oldest are removed.
void keep_reply(const std::string& key, const config::Value& reply);

// Returns facts about an experiment that only tensors can tell, from a throw-away child or from the cache of an earlier
// try. `checkpoint`: from which it resumes; `weights`: a .safetensors file with which it begins; both empty: random
// weights. `timed`: also tries a whole batch, for the time of a step and its replay. Throws ddp::Error (usage) if the
// experiment cannot be trained.
rank::Probe probe(const RankLibrary& library, const Plan& plan, const std::filesystem::path& checkpoint,
                  const std::filesystem::path& weights, const HeldData& data, bool timed = false);

// Returns the plan's graphs as a run keeps them. Throws ddp::Error (usage) if one has changed since `data`.
std::vector<record::KeptGraph> read_graphs(const RankLibrary& library, const Plan& plan, const HeldData& data);

}  // namespace ddp::launch
