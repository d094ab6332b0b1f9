#pragma once

#include <set>
#include <string>

namespace ddp::launch {

// Makes sure that optional libraries (base/optional_library.h), and what they need, are on this machine: for an
// experiment whose components name them. In a checkout scripts/ddp-exp fetches and builds what is missing, which takes
// about a minute once; its words go to stderr. Throws ddp::Error (usage) where that fails, and for an installed program
// that has none.
void obtain(const std::set<std::string>& libraries);

}  // namespace ddp::launch
