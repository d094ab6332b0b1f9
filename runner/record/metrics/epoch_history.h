#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace ddp::record {

// What the epochs of a run had come to. NaN: not measured.
struct EpochHistory {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double train_loss = kNone;  // of the last epoch
  double val_loss = kNone;
  double val_accuracy = kNone;
  double best = kNone;  // of all epochs, of one metric
  std::int64_t best_step = 0;
};

// Read from the epoch lines of metrics.jsonl; `metric` is the one whose best value is wanted.
EpochHistory epoch_history(const std::filesystem::path& metrics, const std::string& metric);

}  // namespace ddp::record
