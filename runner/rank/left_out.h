#pragma once

#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// Tells at the end of training the samples that a rank could not decode: warns of their number and the first ones, and
// writes all of them into the run's bad_files.txt, with those that it has from before a resume. Collective, where a
// dataset leaves samples out. Throws ddp::Error (training) where the file cannot be written.
void tell_left_out(const Task& task, const data::Sets& sets, const dist::Group& group);

}  // namespace ddp::rank
