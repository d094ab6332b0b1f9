#pragma once

#include <set>
#include <string>

#include "data/sets.h"
#include "rank/task.h"

namespace ddp::rank {

// Returns the names of the samples that some rank could not decode and therefore left out; other ranks than 0 get none.
// Collective, where a dataset leaves samples out.
std::set<std::string> left_out_of_all(const Task& task, const data::Sets& sets, const dist::Group& group);

// Says how many samples were left out, and names the first ones.
std::string in_words(const std::set<std::string>& left_out);

// Tells at the end of training the samples that a rank could not decode: warns of their number and the first ones, and
// writes all of them into the run's bad_files.txt, with those that it has from before a resume. Collective, where a
// dataset leaves samples out. Throws ddp::Error (training) where the file cannot be written.
void tell_left_out(const Task& task, const data::Sets& sets, const dist::Group& group);

}  // namespace ddp::rank
