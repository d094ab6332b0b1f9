#pragma once

#include <string>

#include "config/value.h"
#include "data/sets.h"

namespace ddp::data {

// Shows the data of an experiment on a page: what Dataset::preview gives of the training data, or where it gives
// nothing
//   "samples": {"columns", "rows"}: the first training samples, the first numbers of each tensor as text
//   "tensors": for each tensor but those of classes {"name", …}, and what Histogram::to_json gives of its numbers
//   "counted", "samples_in_all": of how many training samples, from the first on, and of how many there are (null:
//     drawn without end)
// "rows" of a table get "set": where each row belongs, "" for one that is left out. Where an input is a picture, which
// has a shape of [h, w] or [c, h, w] with 1 or 3 channels:
//   "images": [{"width", "height", "channels", "pixels" (8 bits each in hexadecimal digits, row by row, the channels of
//     a pixel together), "label"}, …], the first 16, the least number of all of them black and the greatest white
config::Value preview(const Sets& sets);

}  // namespace ddp::data
