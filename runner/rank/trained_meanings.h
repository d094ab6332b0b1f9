#pragma once

#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// A run that resumes with other options of its data fits them again. Throws ddp::Error (usage) with the place
// "dataset" if a class, a category, a column or a token then has another number than in the training of the
// checkpoint: the weights would take one for the other.
void require_trained_meanings(const Task& task, const data::Sets& sets);

}  // namespace ddp::rank
