#pragma once

#include <functional>
#include <string>

#include "dist/process_group.h"

// Forks so many ranks, as a run does, one thread each, which join a group over the backend and run the body. Returns
// what main has to.
int run_ranks(int ranks, const std::string& backend,
              const std::function<void(int rank, const ddp::dist::Group&)>& body);
