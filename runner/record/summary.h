#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/option/fields.h"
#include "record/run_directory.h"
#include "record/saves/data_files.h"
#include "record/tags.h"

namespace ddp::record {

// A failure: the rank, the error, and the log to look at.
struct Failure {
  int rank = -1;  // -1: no single rank
  std::string what;
  std::string log;
  bool lost = false;  // the rank was killed from outside; not in summary.json

  void fields(config::Fields& f) {
    f({.name = "rank", .doc = "-1: no single rank", .range = config::at_least(-1)}, rank);
    f({"what"}, what);
    f({"log", "log file with details"}, log);
  }
};

inline const std::vector<std::string> kStatuses = {"running", "completed", "failed", "interrupted"};
// The rules that end a run before its last step.
inline const std::vector<std::string> kStopRules = {"patience", "max_time"};

// Members that a summary and a view of it have.
inline const config::Option kStuck{.name = "stuck",
                                   .doc = "the rank that holds up a run that trains, and where; null: it goes on",
                                   .may_be_null = true};
inline const config::Option kStoppedBy{.name = "stopped_by",
                                       .doc = "the rule of [stop] that ended the run; null: none",
                                       .choices = kStopRules,
                                       .may_be_null = true};

// Metrics by name, and matrices if there may be any; null: a metric has no value, such as auroc without samples of a
// class. `prefixes`: "train|val|test".
config::Value schema_of_metrics(const std::string& prefixes, bool with_matrices);

// The part of an error's text that tells of a loss, gradient or weight that is not finite: a run that resumes unchanged
// fails again.
inline constexpr const char* kLossNotFinite = " is not finite";
inline constexpr const char* kDataNotFinite = "the data of this step hold inf or NaN";  // the cause of the former
inline constexpr const char* kNothingCounts = "no target of its micro-batch counts";    // another one

// The checkpoint from which a fork started.
struct Origin {
  std::string run;  // as commands take it: "name/run-id", or the run's folder if that is under another results folder
  std::string checkpoint;  // "step-00000046"
  std::int64_t step = 0;

  void fields(config::Fields& f) {
    f({"run", "name of the run for commands"}, run);
    f({"checkpoint", "the name of its folder"}, checkpoint);
    f({"step"}, step);
  }
};
// Parses an origin from an untrusted file. Returns nothing if it is damaged.
std::optional<Origin> read_origin(const config::Value& json);

// The figures of one validation. `best` is of the checkpoint that commands use, `last` is the newest one.
struct ValidationFigures {
  std::string metric;                // checkpoint.metric
  std::optional<double> value = {};  // of that metric; nothing: not finite
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  config::Value values = config::Value::object();  // every val_… by name; null: not finite
  config::Value train = config::Value::object();   // every train_… of that epoch; empty: it has not ended

  void fields(config::Fields& f);
};

// How the steps of the newest process of a run were computed.
struct ReplayFigures {
  std::int64_t steps = 0;                  // without the autograd engine
  std::int64_t eager_steps = 0;            // with it
  std::int64_t calls = 0;                  // of kernels, in a replayed micro-batch
  std::int64_t own_calls = 0;              // of them, those of ddp-exp's own kernels
  std::int64_t unused_parameters = 0;      // to which it gives no gradient
  std::string reason = {};                 // why no further step was replayed; empty: none
  std::string reason_of_evaluations = {};  // why an evaluation did not replay its forwards: other bits; empty: none

  void fields(config::Fields& f);
};

// The figures of the test.
struct TestFigures {
  std::int64_t step = 0;  // of the weights, as the epoch
  std::int64_t epoch = 0;
  config::Value values = config::Value::object();  // by name, with matrices

  void fields(config::Fields& f);
};

// The state of a git checkout.
struct Git {
  std::string commit;
  bool dirty = false;  // files differed from the commit

  void fields(config::Fields& f) {
    f({"commit"}, commit);
    f({"dirty"}, dirty);
  }
};

// Everything beside the settings that decides about the bits of a run.
struct Environment {
  std::string program;  // launch::build_id
  std::string libtorch;
  std::string cpu_capability;
  std::int64_t threads = 0;  // of a rank; 0: the program chose
  std::vector<DataSample> data;
  config::Value sources = config::Value::object();  // hashes by name
  config::Value graphs = config::Value::object();   // hashes of the run's copies

  void fields(config::Fields& f);
};

// Returns the environment that summary.json records; nothing if an older version wrote it, or it is damaged.
std::optional<Environment> environment_in(const config::Value& summary);

// summary.json: the result of a run, or that the run is still running.
struct Summary {
  std::string status = "running";  // running | completed | failed | interrupted
  std::string stuck;               // of a run that trains: the rank that holds it up, and where; empty: it goes on
  std::string stopped_by;          // the rule that ended a completed run before its last step; empty: none did
  std::string name;
  std::string run_id;   // write_summary() sets it
  std::string started;  // as timestamp() gives it; of a resumed run, its first start
  std::string ended;    // write_summary() sets it; empty: the run is running
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t total_steps = 0;    // when all are done; 0: not known yet
  std::int64_t skipped_steps = 0;  // of `steps`, left out because a loss or a gradient was not finite
  ReplayFigures replay;
  std::string shard = "none";
  config::Value final_metrics = config::Value::object();  // by name
  std::optional<ValidationFigures> best;                  // nothing: nothing was measured
  std::optional<ValidationFigures> last;
  std::optional<TestFigures> test;  // nothing: no test
  std::string held_out;             // hash of the rows that are measured; empty: none are
  double seconds = 0;
  std::int64_t parameters = 0;  // number of the model's parameters; 0: not built yet
  std::int64_t frozen_parameters = 0;
  int world_size = 0;
  std::vector<std::string> devices;
  std::string backend;  // "none": a single process
  std::string host;     // the machine of the process that writes the run
  config::Value versions = config::Value::object();
  std::optional<Environment> environment;
  config::Value git = nullptr;  // commit, dirty; null outside a git checkout
  std::string config_hash;
  int restarts = 0;
  std::optional<Origin> origin;  // of a fork
  std::string launch;            // id of the launch by a launcher; its restarted ranks find the run by it
  std::optional<Failure> error;
  Tags tags;  // write_summary() sets them

  void fields(config::Fields& f);
};

// Returns summary.json as an object: {} if the file is missing or damaged. Throws ddp::Error (usage) if it cannot be
// read.
config::Value last_summary(const RunDirectory& run);

// Returns the origin that summary.json names; nothing if the run is not a fork. Throws ddp::Error (usage) if the file
// cannot be read.
std::optional<Origin> origin_of(const RunDirectory& run);

// Writes summary.json atomically. A run whose status is not "running" ends now. Throws ddp::Error (training).
void write_summary(const RunDirectory& run, const Summary& summary);

// Brings the tags in summary.json of an ended run or sweep up to date, if it can. A process that writes the run does it
// by itself.
void renew_tags(const RunDirectory& run);

// Returns a time as summaries give it: RFC 3339, UTC, "2026-11-21T21:04:05Z".
std::string timestamp(std::time_t moment);
inline constexpr const char* kTimestampPattern = "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$";

// Parses such a text; returns nothing if it is invalid.
std::optional<std::time_t> read_timestamp(std::string_view text);

// Keeps matrices that rank 0 measured, such as val_confusion, in a file of the run until its summary is written: no
// event contains them. Adds the matrices, by their names in the summary, or replaces older ones. `step`: the run's step
// at the measurement. Throws ddp::Error (training).
void keep_matrices(const RunDirectory& run, const config::Value& by_name, std::int64_t step);

}  // namespace ddp::record
