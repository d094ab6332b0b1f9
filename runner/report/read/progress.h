#pragma once

#include "report/read/summary_view.h"

namespace ddp::report {

// Reads the progress of a run that is running or was killed from the end of its metrics.jsonl: epochs, steps, seconds
// and the metrics of its last epoch. summary.json is written only when a run begins and ends.
void add_progress(RunView& run);

}  // namespace ddp::report
