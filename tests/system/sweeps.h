#pragma once

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "workspace.h"

namespace ddp::system_test {

inline RunFolder sweep_of(const Workspace& workspace) { return RunFolder(workspace.results() / "s" / "one"); }

inline Words sweep_arguments(Words more = {}) {
  const Words arguments = joined({"sweep", "s.toml", "--run-id", "one"}, more);
  return arguments;
}

inline std::vector<Json> journal(const RunFolder& sweep, const std::string& event = "") {
  std::vector<Json> events;
  std::istringstream lines(text_of(sweep.path() / "journal.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line);
    if (event.empty() || json.at("event") == event) events.push_back(std::move(json));
  }
  return events;
}

inline RunFolder trial_of(const RunFolder& sweep, int trial) {
  char name[16];
  std::snprintf(name, sizeof name, "%03d", trial);
  return RunFolder(sweep.path() / "trials" / name);
}

// The results that must be the same after any number of stops.
inline Json result_of(const RunFolder& sweep) {
  Json rows = sweep.summary().at("ranking");
  for (Json& row : rows) row.erase("seconds");
  return rows;
}

}  // namespace ddp::system_test
