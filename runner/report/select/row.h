#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "report/read/summary_view.h"

namespace ddp::report {

// The readable runs and sweeps, in no order, and a line for each thing that could not be read and was skipped.
struct Catalog {
  std::vector<RunView> runs;
  std::vector<SweepView> sweeps;
  std::vector<std::string> problems;
};

// Reads the runs and sweeps of a results folder, results/<name>/<run-id>/, without trials. With `name`, reads only that
// name.
Catalog read_results(const std::filesystem::path& results, const std::string& name = "");

// Reads the trials of a sweep that have begun.
Catalog read_trials(const std::filesystem::path& sweep);

// Reads the run or sweep in one folder.
Catalog read_folder(const std::filesystem::path& folder);

// A run or a sweep in a list.
struct Row {
  std::string run;  // the name for commands: "name/run-id" under the results folder, else the folder
  std::variant<RunView, SweepView> what;
  std::map<std::string, config::Value> config = {};  // the requested keys of its config.toml
  std::optional<std::int64_t> size = {};             // bytes on disk, if the query asks for it

  const View& view() const {
    return std::visit([](const View& of) -> const View& { return of; }, what);
  }
  const RunView* as_run() const { return std::get_if<RunView>(&what); }
  const SweepView* as_sweep() const { return std::get_if<SweepView>(&what); }
};

// Returns the name of a results folder for commands: "name/run-id" below the results folder, else its path. Nothing is
// below an empty root.
std::string name_of(const std::filesystem::path& folder, const std::filesystem::path& results);

std::vector<Row> rows_of(Catalog catalog, const std::filesystem::path& results);

// The state of the files that tell of a run or a sweep: another state means that it has changed.
using Stamp = std::array<std::int64_t, 15>;
Stamp stamp_of(const std::filesystem::path& folder);

// Returns a path without links, as far as the system can resolve it.
std::filesystem::path followed(const std::filesystem::path& path);

// Returns a link anywhere below the folder that leads out of `root`, a path without links; empty if none does.
std::filesystem::path link_out_of(const std::filesystem::path& root, const std::filesystem::path& folder);

// The runs and sweeps of a results folder, for a process that looks at them again and again: a run is read again if its
// files have changed, or while it runs. Skips a run with a link that leads out of the results folder.
class Listing {
 public:
  explicit Listing(std::filesystem::path results) : results_(std::move(results)), root_(followed(results_)) {}

  // Reads what has changed. Returns whether anything has.
  bool read();
  std::vector<Row> rows() const;
  std::vector<std::string> problems() const;

 private:
  struct Entry {
    Stamp stamp = {};
    std::vector<Row> row = {};  // none: it has no run, or one that cannot be read
    std::vector<std::string> problems = {};
  };
  bool is_old(const Entry& entry, const Stamp& now) const;

  std::filesystem::path results_;
  std::filesystem::path root_;
  std::map<std::filesystem::path, Entry> entries_;
  std::vector<std::string> problems_;  // of the results folder itself
};

// Returns a metric of a run's best checkpoint or test; "last.NAME": of its last validation. For a sweep, its metric in
// the best trial.
std::optional<double> metric_of(const Row& row, const std::string& name);

// Does the key name a metric, as metric_of() takes it?
bool is_metric_key(const std::string& key);

// Returns the metrics that some of the rows have, in display order.
std::vector<std::string> metrics_of(const std::vector<Row>& rows);

// Returns the keys for filters and sorting besides the keys of config.toml, including these metrics.
std::vector<std::string> row_keys(const std::vector<std::string>& metrics);
// Returns the value of such a key, or of a config.toml key in `config`; null if the row has none.
config::Value value_of(const Row& row, const std::string& key);

// A run or a sweep as `list --json` prints it.
template <class View>
struct Named {
  std::string run = {};
  View view = {};

  void fields(config::Fields& f) {
    f({"run", "name of the run for commands"}, run);
    view.fields(f);
  }
};
using ListedRow = std::variant<Named<RunView>, Named<SweepView>>;
ListedRow listed(const Row& row);

}  // namespace ddp::report
