#include "serve/site.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/error.h"
#include "base/paths.h"
#include "base/text_number.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "report/select/query.h"
#include "report/text/run_page.h"

namespace ddp::serve {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::size_t kMostFeeds = 32;
constexpr std::size_t kRowsOfPage = 200;
// Ages are shown, and a run may be killed, without a change of a file.
constexpr std::chrono::seconds kUnchanged{2};

std::string parameter(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

// Returns the key that sorts a column of `list`; empty: none does.
std::string key_of_column(const std::string& head, const std::vector<std::string>& keys) {
  const std::string key = head == "time" ? "seconds" : head == "age" ? "started" : head;
  return std::find(keys.begin(), keys.end(), key) == keys.end() ? "" : key;
}

report::Query query_of(const Parameters& parameters, const std::vector<std::string>& metrics) {
  report::Query query{.metrics = metrics};
  if (const std::string where = parameter(parameters, "where"); !where.empty()) {
    query.where = report::parse_conditions(where);
  }
  if (const std::string sort = parameter(parameters, "sort"); !sort.empty()) query.sort_by = sort;
  return query;
}

// The run's or the sweep's own files, and those of its trials.
std::vector<report::Stamp> stamps_of(const std::vector<fs::path>& folders) {
  std::vector<report::Stamp> stamps;
  for (const fs::path& folder : folders) {
    stamps.push_back(report::stamp_of(folder));
    const record::RunDirectory sweep(folder);
    if (std::error_code none; !sweep.is_sweep() || !fs::is_directory(sweep.trials(), none)) continue;
    for (const fs::path& trial : paths::entries(sweep.trials())) stamps.push_back(report::stamp_of(trial));
  }
  return stamps;
}

}  // namespace

Site::Site(const report::ServerOptions& options)
    : results_(options.results), program_(options.program), metrics_(options.metrics), listing_(results_) {}

Site::Snapshot Site::rows() {
  const std::lock_guard lock(mutex_);
  const auto begin = Pace::Clock::now();
  if (begin < pace_.due()) return snapshot_;
  if (listing_.read() || !snapshot_) {
    snapshot_ = std::make_shared<Rows>(Rows{.rows = listing_.rows(), .problems = listing_.problems()});
  }
  pace_.done(begin);
  return snapshot_;
}

fs::path Site::folder_of(const std::string& run) {
  const Snapshot all = rows();
  for (const report::Row& row : all->rows) {
    if (row.run == run) return row.view().folder;
    if (!row.as_sweep() || !run.starts_with(row.run + "/")) continue;
    for (const report::TrialView& trial : row.as_sweep()->ranking) {
      if (report::name_of(trial.folder, results_) == run && record::RunDirectory(trial.folder).begun()) {
        return trial.folder;
      }
    }
  }
  // An experiment's name stands for its newest run, as in commands.
  const report::Row* newest = nullptr;
  for (const report::Row& row : all->rows) {
    if (fs::path(row.run).parent_path() != run) continue;
    if (newest == nullptr || row.view().started >= newest->view().started) newest = &row;
  }
  return newest == nullptr ? fs::path() : newest->view().folder;
}

std::shared_ptr<Feed> Site::find(const std::string& path, const Parameters& parameters) {
  std::string key = path;
  for (const char* name : {"where", "sort", "limit"}) key += '\0' + parameter(parameters, name);
  std::vector<fs::path> folders;
  const auto [first, last] = parameters.equal_range("run");
  for (auto run = first; run != last; ++run) {
    folders.push_back(folder_of(run->second));
    key += '\0' + run->second;
  }
  const bool is_list = path == "/";
  const bool is_report = path == "/report" && !folders.empty();
  const auto is_unknown = [](const fs::path& folder) { return folder.empty(); };
  if (is_list == is_report || (is_report && std::any_of(folders.begin(), folders.end(), is_unknown))) return nullptr;

  const std::lock_guard lock(mutex_);
  auto known = std::find_if(feeds_.begin(), feeds_.end(), [&](const auto& feed) { return feed.first == key; });
  if (known == feeds_.end()) {
    auto read = is_list ? list_page(parameters) : report_page(std::move(folders));
    known = feeds_.emplace(feeds_.begin(), key, std::make_shared<Feed>(std::move(read)));
    if (feeds_.size() > kMostFeeds) feeds_.pop_back();
  }
  feeds_.splice(feeds_.begin(), feeds_, known);
  return known->second;
}

Feed::Read Site::list_page(const Parameters& parameters) {
  return [this, parameters, shown = Snapshot(), stale = Pace::Clock::time_point()]() mutable -> std::optional<Value> {
    const Snapshot all = rows();
    if (std::exchange(shown, all) == all && Pace::Clock::now() < stale) return {};
    stale = Pace::Clock::now() + kUnchanged;
    return list_data(*all, parameters);
  };
}

Value Site::list_data(const Rows& all, const Parameters& parameters) const {
  std::vector<std::string> problems = all.problems;
  std::vector<report::Row> rows;
  std::string sort;
  try {
    const report::Query query = query_of(parameters, metrics_);
    sort = query.sort_by;
    rows = report::select(all.rows, query, problems);
  } catch (const Error& error) {
    problems.insert(problems.begin(), error.what());
  }
  const std::size_t matching = rows.size();
  const auto limit = text_number<std::size_t>(parameter(parameters, "limit")).value_or(kRowsOfPage);
  rows.resize(std::min(rows.size(), limit));
  const report::ListTable table = report::list_table(rows, /*with_curves=*/true);

  const std::vector<std::string> keys = report::row_keys(report::metrics_of(rows));
  Value columns = Value::array(), cells = columns;
  for (const report::Column& column : table.columns) {
    columns.push_back({{"name", column.header}, {"right", column.right}, {"key", key_of_column(column.header, keys)}});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cells.push_back({{"run", rows[i].run}, {"cells", table.rows[i]}});
  }
  return {{"kind", "list"},
          {"written", record::timestamp(std::time(nullptr))},
          {"program", program_},
          {"problems", problems},
          {"results", results_.string()},
          {"where", parameter(parameters, "where")},
          {"sort", sort},
          {"limit", limit},
          {"all", all.rows.size()},
          {"matching", matching},
          {"columns", columns},
          {"rows", cells}};
}

Feed::Read Site::report_page(std::vector<fs::path> folders) const {
  return [this, folders = std::move(folders), histories = report::Histories(), shown = std::vector<report::Stamp>(),
          stale = Pace::Clock::time_point()]() mutable -> std::optional<Value> {
    std::vector<report::Stamp> now = stamps_of(folders);
    if (std::exchange(shown, now) == now && Pace::Clock::now() < stale) return {};
    stale = Pace::Clock::now() + kUnchanged;
    return report_data(folders, histories);
  };
}

Value Site::report_data(const std::vector<fs::path>& folders, report::Histories& histories) const {
  const fs::path root = report::followed(results_);
  for (const fs::path& folder : folders) {
    // The listing has no links, but a sweep's trials may be some.
    const bool is_link = report::followed(folder) != root / folder.lexically_relative(results_);
    const fs::path link = is_link ? folder : report::link_out_of(root, folder);
    if (!link.empty()) throw usage_error("leads out of the results folder", link.string());
  }
  const bool is_sweep = folders.size() == 1 && record::RunDirectory(folders.front()).is_sweep();
  if (!is_sweep) {
    for (const fs::path& folder : folders) record::RunDirectory(folder).require_run();
    return report::runs_data(folders, program_, histories);
  }
  Value data = report::sweep_data(folders.front(), program_, histories);
  data["sweep"]["trials_page"] = report::name_of(record::RunDirectory(folders.front()).trials(), results_) + "/";
  return data;
}

}  // namespace ddp::serve
