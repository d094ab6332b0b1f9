#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// A prediction: rows of files through a trained model, on the ranks of a plan.
struct Predicting {
  const Plan& plan;  // with parallel = "single": ranks do not communicate
  const RankLibrary& library;
  rank::Task task;                  // the run, the checkpoint and its preprocessing
  std::vector<std::string> inputs;  // files
  std::vector<std::string> shown;   // the inputs as the user gave them
  std::int64_t files_of_row = 1;    // this many consecutive files contain the same rows
  std::int64_t batch_size = 0;      // of a forward pass; it affects the last bits
  std::string form = "csv";         // "csv", "npy" or "parquet"
  std::string output = "stdout";    // name for messages
  bool raw = false;                 // uses the weights that training changes, not their average
};

// Writes the predictions of all rows, in order, to a descriptor; for .npy or .parquet it must be seekable. Memory stays
// within a few blocks of rows. Throws ddp::Error if a process fails (usage if the input does not match the model's
// training data), and Stopped if a signal stops it.
void predict(const Predicting& predicting, int out);

}  // namespace ddp::launch
