#include "report/select/comparison.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/difference.h"
#include "record/run_directory.h"
#include "report/read/summary_view.h"

namespace ddp::report {
namespace {

using config::Value;

bool all_equal(const std::vector<Value>& values) {
  return std::all_of(values.begin(), values.end(), [&](const Value& value) { return value == values.front(); });
}

// Returns one value per run.
template <class Function>
std::vector<Value> of_each(const std::vector<Row>& runs, const Function& value) {
  std::vector<Value> values;
  for (const Row& run : runs) values.push_back(run.as_run() ? Value(value(*run.as_run())) : Value());
  return values;
}

std::vector<ComparisonLine> config_lines(const std::vector<Row>& runs) {
  std::vector<Value> configs;
  for (const Row& run : runs) {
    const record::RunDirectory directory(run.view().folder);
    configs.push_back(read_config(run.as_run() ? directory.config() : directory.sweep()));
  }
  // Compares each run with the first one and collects the differences.
  std::vector<ComparisonLine> lines;
  for (std::size_t i = 1; i < configs.size(); ++i) {
    const Value differences = config::differences(configs.front(), configs[i]);
    for (const auto& [key, values] : differences.items()) {
      if (key == "name" || key.starts_with("notify")) continue;
      auto line =
          std::find_if(lines.begin(), lines.end(), [&key = key](const ComparisonLine& l) { return l.first == key; });
      if (line == lines.end()) {
        lines.emplace_back(key, std::vector<Value>(configs.size(), values[0]));
        line = lines.end() - 1;
      }
      line->second[i] = values[1];
    }
  }
  return lines;
}

void add_metric(std::vector<ComparisonLine>& lines, const std::vector<Row>& runs, const std::string& name) {
  std::vector<Value> values;
  for (const Row& run : runs) {
    const std::optional<double> value = metric_of(run, name);
    values.push_back(value ? Value(*value) : Value());
  }
  lines.emplace_back(name, std::move(values));
}

std::vector<ComparisonLine> metric_lines(const std::vector<Row>& runs) {
  std::vector<ComparisonLine> lines;
  for (const std::string& name : metrics_of(runs)) add_metric(lines, runs, name);
  lines.emplace_back("best epoch", of_each(runs, [](const RunView& run) {
                       return run.validates() ? Value(run.best->epoch) : Value();
                     }));
  lines.emplace_back("epochs", of_each(runs, [](const RunView& run) { return run.epochs; }));
  lines.emplace_back("steps", of_each(runs, [](const RunView& run) { return run.steps; }));
  lines.emplace_back("seconds", of_each(runs, [](const RunView& run) { return run.seconds; }));
  std::erase_if(lines, [](const ComparisonLine& line) {
    return std::all_of(line.second.begin(), line.second.end(), [](const Value& value) { return value.is_null(); });
  });
  return lines;
}

std::vector<ComparisonLine> environment_lines(const std::vector<Row>& runs) {
  std::vector<ComparisonLine> lines;
  lines.emplace_back("status", of_each(runs, [](const RunView& run) { return run.status; }));
  lines.emplace_back("stopped_by", of_each(runs, [](const RunView& run) {
                       return run.stopped_by.empty() ? Value() : Value(run.stopped_by);
                     }));
  lines.emplace_back("world_size", of_each(runs, [](const RunView& run) { return run.world_size; }));
  lines.emplace_back("devices", of_each(runs, [](const RunView& run) { return run.devices; }));
  lines.emplace_back("backend", of_each(runs, [](const RunView& run) { return run.backend; }));
  std::set<std::string> parts;
  for (const Row& run : runs) {
    if (!run.as_run()) continue;
    for (const auto& [part, version] : run.as_run()->versions) parts.insert(part);
  }
  for (const std::string& part : parts) {
    lines.emplace_back("version of " + part, of_each(runs, [&](const RunView& run) {
                         const auto found = run.versions.find(part);
                         return found == run.versions.end() ? Value() : Value(found->second);
                       }));
  }
  lines.emplace_back("git", of_each(runs, [](const RunView& run) {
                       return run.commit.empty() ? Value() : Value(run.commit + (run.dirty ? ", with changes" : ""));
                     }));
  lines.emplace_back("restarts", of_each(runs, [](const RunView& run) { return run.restarts; }));
  std::erase_if(lines, [](const ComparisonLine& line) { return all_equal(line.second); });
  return lines;
}

}  // namespace

std::vector<std::vector<std::size_t>> other_rows(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<std::size_t>> by_hash;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RunView* run = rows[i].as_run();
    if (run != nullptr && !run->held_out.empty()) by_hash[run->held_out].push_back(i);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [hash, group] : by_hash) groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end());
  return groups.size() > 1 ? groups : std::vector<std::vector<std::size_t>>();
}

Comparison compare(std::vector<Row> runs) {
  Comparison comparison;
  comparison.config = config_lines(runs);
  comparison.metrics = metric_lines(runs);
  comparison.environment = environment_lines(runs);
  const SweepView *a = runs[0].as_sweep(), *b = runs[1].as_sweep();
  if (runs.size() == 2 && a && b) comparison.paired = record::pair(*a->result, *b->result);
  comparison.runs = std::move(runs);
  return comparison;
}

std::string letter(std::size_t index) {
  std::string name;
  for (++index; index > 0; index = (index - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (index - 1) % 26));
  return name;
}

}  // namespace ddp::report
