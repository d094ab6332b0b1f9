#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/record_function.h>
#include <c10/core/Device.h>

#include "dist/collectives.h"
#include "record/metrics/metrics_log.h"
#include "record/shared_progress.h"
#include "train/operator_times.h"

namespace ddp::train {

// The rank whose steps are profiled.
struct ProfiledRank {
  record::RankProgress& progress;
  int rank = 0;
  c10::Device device = c10::kCPU;
  at::ScalarType precision = at::kFloat;  // of the products
  dist::Group group;                      // null: one rank
  std::filesystem::path folder;           // of the profile; made if this rank sees its parent folder
  record::Console console;
};

// Profiles some steps of a run with LibTorch's profiler (Kineto): each rank writes a Chrome trace, rank-<R>.json, and
// rank 0 prints a table and writes it as table.txt: the parts of a step on each rank, the rank for which the others
// wait, the operators that take longest with their share of the device's peak, and what profiling cost. On a GPU the
// table has the times of the process that queues the work; the trace shows the device's.
class Profile {
 public:
  // Profiles `steps` of the `left` steps to come, or all if there are fewer, behind steps that warm up and some that
  // are measured without the profiler, as far as there are so many.
  Profile(ProfiledRank rank, std::int64_t steps, std::int64_t left);

  // Call before each step, and end() behind the last one. `step`: the number of steps done. Collective.
  void begin_step(std::int64_t step);
  void end(std::int64_t step);
  // Marks a phase in the trace.
  void enter(record::Phase phase);

 private:
  // Seconds of the parts of a step, in the order of the table's columns.
  using Parts = std::vector<double>;
  Parts parts() const;
  // The seconds of a step since then, for this many steps.
  Parts since(const Parts& then, std::int64_t steps) const;
  void start();
  void finish(std::int64_t step, std::int64_t steps);
  std::string table(const std::vector<Parts>& ranks, const OperatorTimes& operators, std::int64_t step,
                    std::int64_t steps) const;

  const ProfiledRank r_;
  // Steps of this process, counted from 0: the first profiled one, the first that is measured before, and the first
  // behind both.
  const std::int64_t from_;
  const std::int64_t plain_from_;
  const std::int64_t until_;
  std::int64_t done_ = 0;
  Parts began_;                               // parts() when the measured steps began
  Parts plain_;                               // of a step without the profiler; empty: there was none
  std::unique_ptr<OperatorTimes> operators_;  // while the profiler runs
  std::optional<at::RecordFunction> span_;
};

}  // namespace ddp::train
