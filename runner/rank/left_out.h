#pragma once

#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// Tells at the end of training which samples no rank could decode, and which therefore were left out: a warning with
// their number and the first ones, and all of them in the run's bad_files.txt, with those that it has from before a
// resume. Collective, where a dataset leaves samples out. Throws ddp::Error (training) where the file cannot be
// written.
void tell_left_out(const Task& task, const data::Sets& sets, const dist::Group& group);

}  // namespace ddp::rank
