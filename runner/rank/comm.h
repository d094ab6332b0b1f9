#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "config/option/option.h"

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

  // The first of them, where there is one. A value that is not a number is null in JSON, and read as the default.
  std::int64_t rank = 0;
  std::int64_t index = 0;
  double expected = std::numeric_limits<double>::quiet_NaN();
  double got = std::numeric_limits<double>::quiet_NaN();

  void fields(config::Fields& f) {
    f({.name = "op"}, op);
    f({.name = "bytes"}, bytes);
    f({.name = "elements"}, elements);
    f({.name = "microseconds"}, microseconds);
    f({.name = "bus_factor"}, bus_factor);
    f({.name = "wrong"}, wrong);
    f({.name = "rank"}, rank);
    f({.name = "index"}, index);
    f({.name = "expected"}, expected);
    f({.name = "got"}, got);
  }
};

// Asks one rank to measure collectives together with the others. The replies are CommRows, the same and in the same
// order on every rank.
struct CommRequest {
  using Reply = CommRow;
  static constexpr const char* kVerb = "comm";

  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;  // bytes
  std::string dtype = "float";
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  bool check = true;  // every value of every rank, in calls that are not timed

  // Named as the flags of `ddp-exp comm`.
  void fields(config::Fields& f) {
    f({.name = "op"}, ops);
    f({.name = "sizes"}, sizes);
    f({.name = "dtype"}, dtype);
    f({.name = "iterations"}, iterations);
    f({.name = "warmup"}, warmup);
    f({.name = "check"}, check);
  }
};

}  // namespace ddp::rank
