#pragma once

#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "rank/predict.h"

namespace ddp::runs {

// A prediction: rows of files through a trained model, on the ranks of a plan.
struct Predicting {
  const launch::Plan& plan;  // with parallel = "single": ranks do not communicate
  const launch::RankLibrary& library;
  rank::Task task;  // the run, the checkpoint and its preprocessing
  // The requests of the processes, without their pipes.
  rank::DealRequest deal;
  rank::PredictRequest predict;
  rank::CollectRequest collect;
  std::vector<int> kept = {};  // descriptors of held data, for the process that deals
};

// Writes the predictions of all rows, in order, to a descriptor; for .npy or .parquet it must be seekable. Memory stays
// within a few blocks of rows. Throws ddp::Error if a process fails (usage if the input does not match the model's
// training data), and Stopped if a signal stops it.
void predict(const Predicting& predicting, int out);

}  // namespace ddp::runs
