#pragma once

#include <optional>
#include <string>

#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "rank/probe.h"

// Replies about experiments that were tried before: one file each in the folder "probes" of the cache folder. The cache
// only saves time at a start: an entry that is missing, damaged or not writable is no error.
namespace ddp::launch {

// A key of everything that decides the result of a try: the build, the resolved experiment except its name, the
// devices, the number of ranks, the start, the files that it reads (size, times and inode), and the memory limit. "":
// no key, because a folder that it reads holds too many files.
std::string probe_key(const Plan& plan, const Start& start);

// Returns the reply kept under this key, a JSON object; nothing if the cache has none.
std::optional<config::Value> find_reply(const std::string& key);

// Keeps a reply. Beyond 200 entries the oldest are removed.
void keep_reply(const std::string& key, const config::Value& reply);

// The same for the reply of a probe.
std::optional<rank::Probe> find_probe(const std::string& key);

void keep_probe(const std::string& key, const rank::Probe& probe);

}  // namespace ddp::launch
