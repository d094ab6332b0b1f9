#pragma once

#include <string>

#include "record/run_directory.h"
#include "sweep/trials.h"

namespace ddp::sweep {

// The part of a sweep's summary.json beside its trials.
struct SweepSummary {
  std::string status = "running";  // running | completed | failed | interrupted
  std::string name = {};
  std::string started = {};  // RFC 3339
  std::string ended = {};    // empty: still running
  double seconds = 0;        // total running time, including earlier resumes
};

// Reads the parts of an existing summary that a resumed sweep keeps: its start, and how long it has run.
SweepSummary read_summary(const record::RunDirectory& directory);

// Writes summary.json atomically, with the ranking. Throws ddp::Error (training).
void write_summary(const record::RunDirectory& directory, const SweepSummary& summary, const config::Sweep& sweep,
                   const Trials& trials);

}  // namespace ddp::sweep
