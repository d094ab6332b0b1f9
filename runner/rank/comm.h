#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::rank {

// The names of the collectives that can be measured, and of their element types.
inline constexpr std::array kCommOps{"all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather"};
inline constexpr std::array kCommTypes{"float", "double", "half", "bfloat16", "int8", "uint8", "int32", "int64"};

// The result of all ranks for one collective of one size.
struct CommRow {
  std::string op;
  std::int64_t bytes = 0;     // of the largest tensor of a rank, as in nccl-tests
  std::int64_t elements = 0;  // number of elements in these bytes
  double microseconds = 0;    // mean time of a call on the slowest rank
  double bus_factor = 0;      // bus bandwidth = bytes / time * bus_factor
  std::int64_t wrong = 0;     // number of wrong values on all ranks

  // The first wrong value, if any. NaN is null in JSON, and null is read as the default.
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

// Measures collectives together with the other ranks. The replies are CommRows, the same and in the same order on every
// rank.
struct CommRequest {
  using Reply = CommRow;
  static constexpr const char* kVerb = "comm";

  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;  // bytes
  std::string dtype = "float";
  std::int64_t iterations = 20;
  std::int64_t warmup = 5;
  bool check = true;  // check every value of every rank, in calls that are not timed

  // The names are the options of `ddp-exp comm`.
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
