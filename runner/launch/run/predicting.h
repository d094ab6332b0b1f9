#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// A prediction: rows of files through a trained model, on the ranks of a plan.
struct Predicting {
  const Plan& plan;  // of a plan with parallel = "single": ranks do not talk
  const RankLibrary& library;
  rank::Task task;                  // the checkpoint and its preprocessing
  std::vector<std::string> inputs;  // files
  std::vector<std::string> shown;   // each of them as the person gave it
  std::int64_t files_of_row = 1;    // so many of them, which follow each other, hold the same rows
  std::int64_t batch_size = 0;      // of a forward; it decides the last bits
  std::string form = "csv";         // "csv", "npy" or "parquet"
  std::string output = "stdout";    // its name, for people
  bool raw = false;                 // the weights that training changes, not their average
};

// Writes the predictions of all rows, in their order, to a descriptor; of a .npy or .parquet file it must be able to
// seek. Memory stays within a few blocks of rows. Throws ddp::Error where a process fails: of the kind usage where the
// input is not what the model was trained on. Throws Stopped where a signal stops it.
void predict(const Predicting& predicting, int out);

}  // namespace ddp::launch
