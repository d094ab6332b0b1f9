#pragma once

#include <set>
#include <string>

namespace ddp::launch {

// Makes sure that this machine has the optional libraries that an experiment's components name
// (base/optional_library.h), and everything they need. In a checkout scripts/ddp-exp fetches and builds missing ones,
// which takes about a minute once; its output goes to stderr. Throws ddp::Error (usage) if that fails, or if an
// installed program lacks a library.
void obtain(const std::set<std::string>& libraries);

}  // namespace ddp::launch
