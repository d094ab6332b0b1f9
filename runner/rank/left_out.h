#pragma once

#include <set>
#include <string>

#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// Returns on rank 0 the names of the samples that any rank could not decode and left out; returns an empty set on other
// ranks. Collective if a dataset may leave samples out.
std::set<std::string> left_out_of_all(const Task& task, const data::Sets& sets, const dist::Group& group);

// Returns a message with the number of left-out samples and the first names.
std::string in_words(const std::set<std::string>& left_out);

// Reports the samples that ranks could not decode, at the end of training: prints a warning with their number and the
// first names, and adds all names to the run's bad_files.txt, which keeps its names from before a resume. Collective if
// a dataset may leave samples out. Throws ddp::Error (training) if the file cannot be written.
void tell_left_out(const Task& task, const data::Sets& sets, const dist::Group& group);

}  // namespace ddp::rank
