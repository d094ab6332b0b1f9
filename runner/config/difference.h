#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/option/value.h"

namespace ddp::config {

// A key whose value differs between two tables.
struct Difference {
  std::string key;  // "optimizer.lr"
  std::string first;
  std::string second;  // as JSON, long texts cut off; "missing" if the table lacks the key
};

// Returns whether two paths differ. Paths of an experiment are absolute.
bool is_of_paths(const Difference& difference);

// The remedy for machines, whose ranks all use the path of rank 0.
inline constexpr const char* kSamePathRemedy = "put the file at the same path on all nodes";

// Returns the first differences, at most `most`.
std::vector<Difference> first_differences(const Value& first, const Value& second, std::size_t most);

// Returns the first difference.
std::optional<Difference> first_difference(const Value& first, const Value& second);

// Returns all differences by key: {"optimizer.lr": [0.1, 0.2]}; null for a missing value. Lists are compared as a
// whole.
Value differences(const Value& first, const Value& second);

// Returns a value whose URLs, also inside a text, have no queries: those may hold signatures, which make no two runs
// different.
Value without_queries(Value value);

// Describes one of these differences: `optimizer.lr was 0.1, now 0.2`.
std::string change_in_words(const std::string& key, const Value& change);

}  // namespace ddp::config
