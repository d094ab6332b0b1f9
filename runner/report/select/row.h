#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "report/select/catalog.h"

namespace ddp::report {

// A run or a sweep among others.
struct Row {
  std::string run;  // as a command names it: "name/run-id" under the results root, else its folder
  std::variant<RunView, SweepView> what;
  std::map<std::string, config::Value> config = {};  // what was asked for of its config.toml

  const View& view() const {
    return std::visit([](const View& of) -> const View& { return of; }, what);
  }
  const RunView* as_run() const { return std::get_if<RunView>(&what); }
  const SweepView* as_sweep() const { return std::get_if<SweepView>(&what); }
};

// How a command names a folder of results: "name/run-id" where it is below the results root, else its path. An empty
// root is below nothing.
std::string name_of(const std::filesystem::path& folder, const std::filesystem::path& results);

std::vector<Row> rows_of(Catalog catalog, const std::filesystem::path& results);

// A metric as it was at the end; of a sweep, its metric as its best trial has it.
std::optional<double> metric_of(const Row& row, const std::string& name);

// The metrics that some of the rows have, in the order in which they are shown.
std::vector<std::string> metrics_of(const std::vector<Row>& rows);

// The keys that filters and sorting accept beside those of config.toml: these metrics among them.
std::vector<std::string> row_keys(const std::vector<std::string>& metrics);
// One of these, or of config.toml as far as `config` has it; null where the row has none.
config::Value value_of(const Row& row, const std::string& key);

// What a run came to, and with what; what a sweep searched for, and how many of its trials ended how.
void add_facts(config::Value& json, const RunView& run);
void add_facts(config::Value& json, const SweepView& sweep);

// All that is known of a row, for other programs.
config::Value to_json(const Row& row);
config::Value to_json(const RunView& run);
config::Value to_json(const SweepView& sweep);

}  // namespace ddp::report
