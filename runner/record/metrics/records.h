#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "record/metrics/metric_values.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"

namespace ddp::record {

// One optimizer step, as metrics.jsonl tells it.
struct StepRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double loss = 0;
  double lr = 0;
  std::int64_t samples = 0;              // of all ranks
  bool nothing_counts = false;           // the loss ignores every target of the step: it has no mean
  bool ends_run = false;                 // the run fails here, and says so itself
  std::optional<double> grad_norm = {};  // before clipping; nothing: the norm is not clipped
  bool skipped = false;                  // its gradients were not finite, and no parameter changed
};

// An epoch's end.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;  // of the whole epoch, all ranks
  MetricValues metrics;      // what was measured: train_loss first
};

// A validation inside an epoch.
struct ValidationRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  MetricValues metrics;  // val_loss first
};

// The test at the end of a run, with the weights of this step.
struct TestRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  MetricValues metrics;  // test_loss first
};

// A checkpoint that is there.
struct SaveRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path folder = {};
  double stall = 0;  // seconds that training waited for it
  SaveReason reason = SaveReason::regular;
};

// From where a run goes on, and with what.
struct ResumeRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path checkpoint = {};  // empty: from the start
  int world_size = 1;
  std::string changes = {};           // of the experiment, a JSON object; empty: none
  std::optional<Origin> origin = {};  // of a fork's begin
};

// The ranks of a run start again after one of them failed.
struct RestartRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  int restart = 1;  // which one of the run
  int rank = -1;    // that failed
  std::string cause = {};
  std::filesystem::path checkpoint = {};  // empty: from the start
};

}  // namespace ddp::record
