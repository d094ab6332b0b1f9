#pragma once

#include <functional>

#include "launch/cluster/job.h"
#include "launch/cluster/nodes.h"
#include "launch/run/train.h"

namespace ddp::commands {

// How long nodes wait for each other: distributed.timeout.
std::chrono::milliseconds patience_of(const config::Experiment& experiment);

// On node 0 (or the only node), or as one rank that torchrun or srun started: calls `body`; node 0 gathers the other
// nodes first, and sends them the error that `body` throws. Returns the program's exit code.
int lead(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
         const std::function<int(const launch::LaunchRole&)>& body);

// On another node: receives the work from node 0, makes a job of it and does its part. If `make_job` throws, reports
// the error to node 0. Returns the program's exit code. Throws ddp::Error if this node cannot take part.
int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::function<launch::Job(const std::string& work)>& make_job);

// On another node: trains the experiment that node 0 sends. If this node cannot see node 0's sources, it uses the
// sources of its own `sets`. Returns the program's exit code. Throws ddp::Error on failure.
int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::vector<std::string>& sets);

}  // namespace ddp::commands
