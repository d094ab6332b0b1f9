#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"
#include "record/metrics/metric_values.h"
#include "record/summary.h"

namespace ddp::report {

// What summary.json says of both runs and sweeps. What a file does not say, or says in another type than is due, is
// left empty, so that files of older versions can be read too; texts are fit for a terminal.
struct View {
  std::filesystem::path folder;
  std::string name;  // of the experiment
  std::string run_id;
  std::string status;  // running | completed | failed | interrupted; running only while a process writes it
  std::time_t started = 0;
  std::optional<std::time_t> ended;
  double seconds = 0;
};

struct Best {
  std::string metric;
  double value = 0;
  std::int64_t step = 0;
};

struct RunView : View {
  std::string of_trial;    // the status in words, where it is a trial whose sweep knows more than the run; else empty
  std::string stopped_by;  // the rule that ended it before its last step: patience, max_time; empty: none did
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::map<std::string, double, record::MetricOrder> final_metrics;  // those there are
  std::optional<Best> best;
  std::int64_t parameters = 0;  // 0: not told
  std::int64_t frozen_parameters = 0;
  std::int64_t world_size = 0;
  std::vector<std::string> devices;
  std::string backend;
  std::map<std::string, std::string> versions;
  std::string commit;  // of the experiment's git checkout; empty where it was in none
  bool dirty = false;  // files differed from it
  std::int64_t restarts = 0;
  std::optional<record::Origin> origin;  // of a fork
  std::optional<record::Failure> error;
};

// "completed (patience)" of a run that a rule ended; else its status, of a trial as its sweep says it.
std::string status_in_words(const RunView& run);

struct TrialView {
  std::int64_t trial = 0;
  std::optional<std::int64_t> place;  // 1 is the best; none without a metric
  std::filesystem::path folder;
  std::string status;                // also: stopped (at a rung), waiting
  std::optional<std::int64_t> rung;  // the one, from 1, that it is at or went on from
  std::optional<double> metric;
  std::int64_t epochs = 0;
  double seconds = 0;
  std::map<std::string, config::Value> parameters;
  std::string error;
};

// "at rung 1" of a trial that may go on later, "promoted from rung 1" of one that does; else its status.
std::string status_in_words(const TrialView& trial);

struct SweepView : View {
  std::string method;
  std::string metric;
  std::string goal;
  std::vector<std::string> parameters;
  std::int64_t trials = 0;
  std::int64_t completed = 0;
  std::int64_t stopped = 0;
  std::int64_t failed = 0;
  std::int64_t waiting = 0;
  std::vector<TrialView> ranking;  // best first; those without a metric last
  std::string repeat;              // the command that trains the best one alone

  const TrialView* best() const { return ranking.empty() || !ranking.front().place ? nullptr : &ranking.front(); }
};

// Reads a run's or a sweep's summary.json. One that began and has none yet is read as empty: running while it is
// locked, else interrupted. Throws ddp::Error where the file is damaged.
RunView read_run(const std::filesystem::path& folder);
SweepView read_sweep(const std::filesystem::path& folder);

// Adds what the sweep says of its trials to their runs.
void add_trial_status(const SweepView& sweep, RunView& run);

}  // namespace ddp::report
