#pragma once

#include <functional>

#include "launch/cluster/nodes.h"
#include "launch/run/job.h"
#include "launch/run/training.h"

namespace ddp::commands {

// How long nodes wait for each other: distributed.timeout.
std::chrono::milliseconds patience_of(const config::Experiment& experiment);

// As node 0 (or the only one): gathers the other nodes, and does `body`. Where it throws, they are told why. Returns
// the program's exit code.
int lead(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
         const std::function<int(launch::Nodes&)>& body);

// As node 0, or as one rank that torchrun or srun started: does `body`, the former as `lead` does. Returns the
// program's exit code.
int as_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
            const std::function<int(const launch::Part&)>& body);

// As another node: asks node 0 for its work, makes a job of that, and does its part of it. Where that cannot be made,
// node 0 is told why. Returns the program's exit code. Throws ddp::Error where it cannot take part.
int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::function<launch::Job(const std::string& work)>& make_job);

// As another node: trains what node 0 says. Where node 0's sources are not seen from here, this node takes those of its
// own `sets`. Returns the program's exit code. Throws ddp::Error where it cannot.
int take_part(const launch::Launch& launch, const config::Value& terms, std::chrono::milliseconds patience,
              const std::vector<std::string>& sets);

}  // namespace ddp::commands
