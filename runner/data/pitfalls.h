#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "data/sets.h"

namespace ddp::data {

// Returns warnings about what makes results of a table worthless: a column that alone tells two classes apart in every
// training row (unless chance does so), held-out rows that are training rows too (at least 1 % of a set), and a class
// with fewer rows than [folds]. Empty for other data.
std::vector<std::string> pitfalls(const Sets& sets, const config::Experiment& experiment);

}  // namespace ddp::data
