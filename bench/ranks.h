#pragma once

#include <functional>
#include <string>

#include "dist/process_group.h"

// Forks `ranks` ranks with one thread each, as a run does. They join a process group over the backend and run the body.
// Returns the exit status for main.
int run_ranks(int ranks, const std::string& backend,
              const std::function<void(int rank, const ddp::dist::Group&)>& body);
