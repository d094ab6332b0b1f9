#pragma once

#include <cstdint>
#include <string>

#include "config/option/fields.h"
#include "launch/plan/plan.h"
#include "rank/probe.h"
#include "runs/prepare.h"

namespace ddp::commands {

// A forecast of the memory of rank 0 at its peak, in bytes: resident memory beyond that of a rank that trains a tiny
// model. Memory that ranks share counts whole.
struct Memory {
  std::int64_t parameters = 0;  // with buffers
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t average = 0;
  std::int64_t activations = 0;
  std::int64_t communication = 0;
  std::int64_t data = 0;
  std::int64_t checkpoint = 0;
  std::int64_t peak = 0;    // the sum; 0: not known
  std::string reason = {};  // why it is not known

  void fields(config::Fields& f);
};

// Takes the first steps of the planned run in a process for each rank, for some seconds at most, and measures their
// memory. The cache folder keeps the result, as launch::probe's. Writes no other file.
Memory forecast_memory(const runs::Prepared& prepared);

// Bytes of a rank for each parameter: the parameter, its gradient, its place in a bucket (unless gradients are views
// into the buckets), the optimizer state, and its average if there is one. Memory that ranks share counts once.
std::int64_t bytes_per_rank(const launch::Plan& plan, const rank::Probe& probe);

// Bytes of rank 0 for a checkpoint: a copy that is written while training continues. An average has the size of the
// parameters, and its own buffers.
std::int64_t snapshot_bytes(const launch::Plan& plan, const rank::Probe& probe);

}  // namespace ddp::commands
