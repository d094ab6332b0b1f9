#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/load.h"
#include "record/run_directory.h"

namespace ddp::commands {

// `run FILE --run-id ID` continues the run ID with the run's own settings, so a file that has changed since would have
// no effect. Returns an error (usage) that lists the keys that the file gives and the run has otherwise; nothing if
// there are none. `asked`: the file with `sets`, which change the run as --set of `resume` does.
std::optional<Error> other_settings(const config::Loaded& asked, const record::RunDirectory& run,
                                    const std::vector<std::string>& sets);

}  // namespace ddp::commands
