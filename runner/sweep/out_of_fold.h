#pragma once

#include <cstddef>

#include "config/load/sweep.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "record/run_directory.h"

namespace ddp::sweep {

// The predictions of a cross-validation for the rows that each run held out: oof.csv. Each run writes those of its fold
// when it has ended, into its own folder.

// Tells whether a run has written them.
bool has_held_out(const record::RunDirectory& run);

// Predicts the validation of a run that has ended, with its best checkpoint. Writes an empty file, with a warning, for
// answers that are no columns, such as those for the pixels of an image. `plan`: of the run. Throws ddp::Error
// (training).
void predict_held_out(const launch::RankLibrary& library, const launch::Plan& plan, const launch::HeldData& data,
                      const record::RunDirectory& run);

// Joins the predictions of all runs, if they have some, in the order of rows: row, fold, repeat and seed (if there are
// several), the columns of `predict`, and the target. Throws ddp::Error (training) if a file cannot be read or written.
void join_held_out(const record::RunDirectory& cv, const std::vector<config::Part>& parts);

}  // namespace ddp::sweep
