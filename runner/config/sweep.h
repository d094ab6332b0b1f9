#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/metric.h"
#include "config/option/parameter.h"

namespace ddp::config {

// A value for each parameter, in their order.
using Point = std::vector<Node>;

// The [sweep] table of a file: how to search, for what, and where.
struct Sweep {
  Component method{.name = "grid"};  // with all of its options
  Metric metric;                     // its direction is that of [sweep] goal, where that is given
  std::int64_t retries = 0;          // of a trial that fails
  std::vector<Parameter> parameters = {};

  // "min" or "max", as [sweep] and summaries say it.
  const char* goal() const { return metric.direction == Direction::greater ? "max" : "min"; }
  // {"optimizer.lr": 0.1, "batch_size": 32}
  Value named(const Point& point) const;
};

// A file with a [sweep] table, of which every trial is an experiment.
class LoadedSweep {
 public:
  Sweep sweep;
  std::string name;  // of the experiment: the folder under the results root
  std::filesystem::path file;
  std::int64_t epochs = 0;  // that a trial trains; 0: it is given steps
  Place place;              // of [sweep]

  // The experiment with these values. Its mistakes go to `problems`, at the values that the sweep gives.
  Loaded trial(const Point& point, Problems& problems) const;
  // The same; throws ddp::Error (usage) with all of its mistakes.
  Loaded trial(const Point& point) const;

  // What stands in the file if it is not there and does not vary: the same for all trials.
  void set_threads(std::int64_t threads);
  // Sets the file's init_from.path, if the file has one: the same for all trials.
  void set_weights(const std::string& weights);
  const Components& components() const { return components_; }

  // The whole as a file that load_sweep reads back to the same trials, from wherever it stands; the same as a value.
  std::string to_toml() const;
  Value to_value() const;

 private:
  friend class SweepReader;

  // The settings of an experiment in which these parameters have these values.
  Node composed(const std::vector<Parameter>& parameters, const Point& point, Problems& problems) const;

  Node base_;      // the experiment without [sweep]
  Value section_;  // [sweep]
  Components components_;
};

// The keys of [sweep], those of all search methods.
std::vector<Option> sweep_options(const Components& components);

// Does the file, or one that it extends, or a --set, have a [sweep] table? False too where it cannot be read.
bool has_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets);

// Reads a file with its [sweep] table and checks that table; trials are checked one by one, by trial(). Throws
// ddp::Error (usage) with every mistake found.
LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                       const Components& components);

}  // namespace ddp::config
