#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "config/load/parameter.h"
#include "config/metric.h"

namespace ddp::config {

// One value for each parameter, in the order of the parameters.
using Point = std::vector<Node>;

// The [sweep] table of a file: search method, metric and parameters.
struct Sweep {
  Component method{.name = "grid"};  // with all of its options
  Metric metric;                     // with the direction of the key goal, if it is given
  std::int64_t retries = 0;          // of a failed trial
  std::vector<Parameter> parameters = {};

  // "min" or "max", as in [sweep] and in summaries.
  const char* goal() const { return metric.direction == Direction::greater ? "max" : "min"; }
  // {"optimizer.lr": 0.1, "batch_size": 32}
  Value named(const Point& point) const;
};

// A run of a cross-validation or of a race.
struct Part {
  std::int64_t seed = 0;
  std::int64_t candidate = 0;               // of a race: 0 is A, 1 is B
  std::optional<std::int64_t> repeat = {};  // with folds
  std::optional<std::int64_t> fold = {};
};
// The runs of an experiment's cross-validation, in their order: each seed trains all folds of all repeats.
std::vector<Part> parts_of(const Experiment& e);

// How a race of two experiments ends.
struct RaceRules {
  std::string metric;  // empty: A's checkpoint.metric
  double alpha = 0.05;
  std::int64_t max_seeds = 50;
  std::int64_t min_seeds = 3;

  double enough_evidence() const { return 1 / alpha; }
  void fields(Fields& f) {
    f({"metric"}, metric);
    f({"alpha"}, alpha);
    f({"max_seeds"}, max_seeds);
    f({"min_seeds"}, min_seeds);
  }
};

// A file that trains several experiments: the trials of its [sweep], or the runs of its [folds] and [repeat], or two
// experiments that race. A trial of a sweep or of a race is a cross-validation if its experiment has [folds] or
// [repeat].
class LoadedSweep {
 public:
  enum class Kind { sweep, cv, race };

  Kind kind = Kind::sweep;
  bool is_sweep() const { return kind == Kind::sweep; }
  bool is_cv() const { return kind == Kind::cv; }
  bool is_race() const { return kind == Kind::race; }

  Sweep sweep;              // of a cross-validation or race: its metric, and the keys in which its runs differ
  std::vector<Part> parts;  // of a cross-validation or race
  RaceRules rules;          // of a race
  std::string name;         // of the experiment: the folder under the results folder
  std::filesystem::path file;
  std::int64_t epochs = 0;                    // of a trial; 0: the file gives steps
  SourceRange place;                          // of [sweep]
  std::map<std::string, SourceRange> places;  // of its keys: "sweep.min_epochs"

  // The experiment with these values; of a sweep of cross-validations the first run of the trial's. Adds its mistakes
  // to `mistakes`, at the places of the sweep's values; also that it does not measure the sweep's metric.
  Loaded trial(const Point& point, Mistakes& mistakes) const;
  // The same, but throws ddp::Error (usage) with all mistakes.
  Loaded trial(const Point& point) const;
  // Is each trial of the sweep a cross-validation?
  bool trials_are_cvs() const;
  // The cross-validation of a trial. Throws ddp::Error (usage).
  LoadedSweep cv_of(const Point& point) const;
  // The name of a trial's folder; empty: its number.
  std::string folder_name(int trial) const;
  // The values of a run of a cross-validation or race.
  Point point_of(const Part& part) const;

  // Sets `threads`, the same for all trials, if the file does not give it and it does not vary; of a race in both
  // files.
  void set_threads(std::int64_t threads);
  // Sets init_from.path, the same for all trials, if the file has it. `of_other`: in file B of a race.
  void set_weights(const std::string& weights, bool of_other = false);
  const Components& components() const { return components_; }

  // The sweep as TOML, with absolute paths, that load_sweep() reads back to the same trials; to_value() is the same as
  // a value.
  std::string to_toml() const;
  Value to_value() const;

 private:
  friend class SweepReader;

  Node with(const Point& point, Mistakes& mistakes) const;

  Node base_;               // the experiment without [sweep]; of a race A
  Node other_;              // of a race B
  Value section_ = {};      // [sweep]
  std::string given_goal_;  // of the metric; empty: its own direction
  Components components_;
};

// The keys of [sweep], including the options of all search methods.
std::vector<Option> sweep_options(const Components& components);

// Does the file, a file that it extends, or a --set have a [sweep] table, or [folds] of which none is chosen? False if
// the file cannot be read.
bool has_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets);

// Reads a file and checks its [sweep] table, or its [folds] and [repeat]; trial() checks each trial. Throws ddp::Error
// (usage) with every mistake.
LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                       const Components& components);
// The same for a race of two files, whose `sources` must be the same. The sets hold for both.
LoadedSweep load_race(const std::filesystem::path& a, const std::filesystem::path& b,
                      const std::vector<std::string>& sets, const RaceRules& rules, const Components& components);

}  // namespace ddp::config
