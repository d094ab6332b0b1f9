#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rank/task.h"

// What crosses from the parent to the rank library when collectives are measured.
namespace ddp::rank {

// The collectives that can be measured, and the types of their elements, by name.
inline constexpr std::array kCommOps{"all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather"};
inline constexpr std::array kCommTypes{"float", "double", "half", "bfloat16", "int8", "uint8", "int32", "int64"};

// One collective of one size, as all ranks measured it.
struct CommRow {
  std::string op;
  std::int64_t bytes = 0;     // as nccl-tests counts them: of the greatest tensor that a rank has in it
  std::int64_t elements = 0;  // as many as these bytes hold
  double microseconds = 0;    // of one call: the mean of a rank's calls, of the rank that was slowest
  double bus_factor = 0;      // bus bandwidth is bytes / time times this
  std::int64_t wrong = 0;     // values that were not what they must be, of all ranks

  // The first of them, where there is one.
  int rank = 0;
  std::int64_t index = 0;
  double expected = 0;
  double got = 0;
};

struct CommOptions {
  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;  // bytes
  std::string dtype = "float";
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  bool check = true;  // every value of every rank, in calls that are not timed

  // Is told of each row on every rank, in order; there the rows are the same.
  std::function<void(const CommRow&)> report = {};
};

extern "C" {
// Measures as one rank. Returns the process's exit code: 0 measured, right or wrong, 1 failed (told on the progress
// page).
int ddp_rank_comm(const Task* task, const CommOptions* options);
}

}  // namespace ddp::rank
