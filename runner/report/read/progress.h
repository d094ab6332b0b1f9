#pragma once

#include "report/read/summary_view.h"

namespace ddp::report {

// summary.json is written when a run begins and when it ends. What one that is running, or was killed, has come to
// stands at the end of its metrics.jsonl: epochs, steps, seconds and the metrics of its last epoch.
void add_progress(RunView& run);

}  // namespace ddp::report
