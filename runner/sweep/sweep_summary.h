#pragma once

#include <string>

#include "record/run_directory.h"
#include "sweep/trials.h"

namespace ddp::sweep {

// What a sweep's summary.json says beside its trials.
struct SweepSummary {
  std::string status = "running";  // running | completed | failed | interrupted
  std::string name = {};
  std::string started = {};  // RFC 3339
  std::string ended = {};    // empty: it is running
  double seconds = 0;        // that it ran, carried over resumes
};

// What a sweep that goes on keeps of the summary it has: when it began, and how long it has run.
SweepSummary read_summary(const record::RunDirectory& directory);

// Puts summary.json in place, whole, with the ranking. Throws ddp::Error (training).
void write_summary(const record::RunDirectory& directory, const SweepSummary& summary, const config::Sweep& sweep,
                   const Trials& trials);

}  // namespace ddp::sweep
