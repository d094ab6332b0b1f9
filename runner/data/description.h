#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/option/value.h"
#include "data/sets.h"
#include "datasets/dataset.h"

namespace ddp::data {

// Returns a CSV with the columns "row" and "set": the set of each sample of the training dataset; "dropped": it is in
// none. Throws ddp::Error (usage) if its samples are no rows of files.
std::string sets_of_rows(const Sets& sets, const config::Experiment& experiment);

// Describes the data of an experiment for people: config::DataDescription, with the result of Dataset::describe for the
// training data.
// `first`: the first batch of rank 0. Only this batch and the classes of arrays are read from files.
config::Value describe(const Sets& sets, const config::Experiment& experiment, const datasets::Batch& first);

// Returns warnings about what makes results of a table worthless: a column that alone tells two classes apart in every
// training row (unless chance does so), held-out rows that are training rows too (at least 1 % of a set), and a class
// with fewer rows than [folds]. Empty for other data.
std::vector<std::string> pitfalls(const Sets& sets, const config::Experiment& experiment);

// Returns the classes of a set's samples, int64 [n]; undefined unless each sample has one class.
at::Tensor classes_of(const Set& set);

// Describes the data of an experiment for a report: the result of Dataset::preview for the training data or, if it is
// empty,
//   "samples": {"columns", "rows"}: the first training samples, the first numbers of each tensor as text
//   "tensors": for each tensor except classes {"name", …} with the members of Histogram::to_json of its numbers
//   "counted", "samples_in_all": the number of training samples in the histograms, and the number of all training
//     samples (null: unlimited)
//   "images": [{"width", "height", "channels", "pixels" (8 bits each in hexadecimal digits, row by row, the channels of
//     a pixel together), "label"}, …], the first 16, if inputs are pictures of shape [h, w] or [c, h, w] with 1 or 3
//     channels; else empty. The least number of all pictures is black and the greatest is white.
// "rows" of a table get "set", the set of each row; "" for a row that is left out.
config::Value preview(const Sets& sets);

}  // namespace ddp::data
