#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/option/value.h"
#include "record/cross_validation.h"
#include "record/metrics/metric_values.h"
#include "record/race.h"
#include "record/summary.h"

namespace ddp::report {

// The members of summary.json that runs and sweeps share. A member that is missing or has an unexpected type stays
// empty, so files of older versions can be read too. Texts are safe for a terminal.
struct View {
  std::filesystem::path folder;
  std::string name;  // of the experiment
  std::string run_id;
  std::string status;  // running | completed | failed | interrupted; running only while a process writes it
  std::time_t started = 0;
  std::optional<std::time_t> ended;
  double seconds = 0;
  record::Tags tags;

  void fields(config::Fields& f);
};

using Metrics = std::map<std::string, double, record::MetricOrder>;

struct RunView : View {
  std::string of_trial;    // the status in words of a trial whose sweep knows more than its run; else empty
  std::string stuck;       // of a run that trains: the rank that holds it up, and where; empty: it goes on
  std::string stopped_by;  // the rule that ended the run before its last step: patience, max_time; empty: none did
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t total_steps = 0;  // when all are done; 0: unknown
  // Of a run that trains: the loss of the newest step, and an estimate from the pace so far.
  std::optional<double> loss;
  std::optional<double> seconds_left;
  double samples_per_second = 0;  // 0: unknown
  double waiting_for_data = 0;    // part of the last epoch's training
  // The figures of the model that commands use: of the best checkpoint's validation, of the training in its epoch, and
  // of the test.
  Metrics figures;
  Metrics final_metrics;  // the last measured values
  // Per metric, such as val_confusion: the counts of samples, a row for each right class. Of the last validation and of
  // the test.
  std::map<std::string, std::vector<std::vector<std::int64_t>>> matrices;
  std::optional<record::ValidationFigures> best;
  std::optional<record::ValidationFigures> last;
  std::optional<record::TestFigures> test;
  std::string held_out;         // hash of the rows that are measured; empty: unknown
  std::int64_t parameters = 0;  // 0: unknown
  std::int64_t frozen_parameters = 0;
  std::int64_t world_size = 0;
  std::vector<std::string> devices;
  std::string backend;
  std::map<std::string, std::string> versions;
  std::string commit;  // commit of the experiment's git checkout; empty outside a checkout
  bool dirty = false;  // files differed from the commit
  std::int64_t restarts = 0;
  std::optional<record::Origin> origin;  // of a fork
  std::optional<record::Failure> error;

  // Without validation, the last epoch stands in `best`.
  bool validates() const { return best && !best->values.empty(); }

  // As commands print it: all but the matrices.
  void fields(config::Fields& f);
  // The members from stopped_by to restarts, and the error.
  void list_facts(config::Fields& f) const;
};

// Returns "completed (patience)" for a run that a rule ended, "stuck" for one that runs and does not go on; otherwise
// the status, for a trial as its sweep knows it.
std::string status_in_words(const RunView& run);

struct TrialView {
  std::int64_t trial = 0;
  std::optional<std::int64_t> place;  // 1 is the best; nothing without a metric
  std::filesystem::path folder;
  std::string status;                // also: stopped (at a rung), waiting
  std::optional<std::int64_t> rung;  // from 1: the trial's rung, or the rung that it left
  std::optional<double> metric;
  std::int64_t epochs = 0;
  double seconds = 0;
  config::Value parameters = config::Value::object();
  std::string error;

  void fields(config::Fields& f);
};

// Returns "at rung 1" for a trial that may continue later, "promoted from rung 1" for one that does; else its status.
std::string status_in_words(const TrialView& trial);

inline const std::vector<std::string> kSweepKinds = {"sweep", "cv", "race"};

// A sweep, or a cross-validation or a race, whose trials are its runs.
struct SweepView : View {
  std::string kind = "sweep";
  std::string method;
  std::string metric;
  std::string goal;
  std::vector<std::string> parameters;
  std::int64_t trials = 0;
  std::int64_t completed = 0;
  std::int64_t stopped = 0;
  std::int64_t failed = 0;
  std::int64_t waiting = 0;
  std::vector<TrialView> ranking;                 // best first; trials without a metric last
  std::string command;                            // trains the file of the sweep; empty: unknown
  std::string repeat;                             // command that trains the best trial alone
  std::optional<record::CrossValidation> result;  // of a cross-validation that has completed
  std::optional<record::Race> race;               // of a race that has ended

  bool is_cv() const { return kind == "cv"; }
  // The mean of the metric over all trials; nothing if one has none.
  std::optional<double> mean() const;

  // As commands print it, without the ranking.
  void fields(config::Fields& f);
  void list_facts(config::Fields& f) const;
  void list_verdict(config::Fields& f) const;
  void list_ranking(config::Fields& f) const { f({"ranking", "best first; trials without a metric last"}, ranking); }

  const TrialView* best() const { return ranking.empty() || !ranking.front().place ? nullptr : &ranking.front(); }
};

inline const std::vector<std::string> kTrialStatuses = {"completed",   "stopped", "failed",
                                                        "interrupted", "running", "waiting"};

// Reads the summary.json of a run or a sweep. If it has begun but has no summary.json yet, the result has only a
// status: running while it is locked, else interrupted. Throws ddp::Error if the file is damaged.
RunView read_run(const std::filesystem::path& folder);
SweepView read_sweep(const std::filesystem::path& folder);

// Returns what evaluation.json says of the best checkpoint; null: nothing, or of an earlier one. Throws ddp::Error if
// the file is damaged.
config::Value read_evaluation(const RunView& run);

// Adds the status that the sweep knows of a trial to the trial's run.
void add_trial_status(const SweepView& sweep, RunView& run);

// Reads the progress of a run that is running or was killed from the end of its metrics.jsonl: epochs, steps, seconds
// and the metrics of its last epoch. summary.json is written only when a run begins and ends.
void add_progress(RunView& run);

// Returns the content of a TOML file of a results folder in its order, such as a run's config.toml, which has every
// key. A component becomes a table with its name, even if the file has the short form. Throws ddp::Error if the file
// cannot be read.
config::Value read_config(const std::filesystem::path& file);

// Returns the keys of nested tables with their values: {"optimizer.name": "sgd", "optimizer.lr": 0.1}.
config::Value flat(const config::Value& table);

}  // namespace ddp::report
