#pragma once

#include <optional>
#include <string>

#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "rank/probe.h"

// The replies about experiments that were tried before: a file each in the folder "probes" of the cache folder.
// Nothing depends on it but the time that a start takes: an entry that is missing, damaged or not to be written is no
// error.
namespace ddp::launch {

// Names everything that decides what a try finds: the build, the resolved experiment but for its name, the devices,
// what it starts from, the files that it reads (size, times and inode), and the limit of memory. "": it cannot be
// named, because a folder that it reads holds too many files.
std::string probe_key(const Plan& plan, const Start& start);

// Returns the reply that was kept under this key, a JSON object; nothing where there is none.
std::optional<config::Value> find_reply(const std::string& key);

// Keeps a reply. The oldest entries go where there are more than 200.
void keep_reply(const std::string& key, const config::Value& reply);

// The same for the reply of a probe.
std::optional<rank::Probe> find_probe(const std::string& key);

void keep_probe(const std::string& key, const rank::Probe& probe);

}  // namespace ddp::launch
