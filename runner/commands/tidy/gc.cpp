#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/tidy/removal.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "report/select/query.h"

namespace ddp::commands {
namespace fs = std::filesystem;

namespace {

struct GcOptions : RemovalOptions {
  std::optional<int> keep_last;
  std::string older_than;
  std::string status;
};

// Parses "30d", "12h", "45m".
std::time_t seconds_of(const std::string& age) {
  const std::map<char, std::time_t> units{{'m', 60}, {'h', 3600}, {'d', 86400}};
  const auto unit = age.empty() ? units.end() : units.find(age.back());
  const bool digits = age.size() > 1 && age.size() < 8 && age.find_first_not_of("0123456789") == age.size() - 1;
  if (unit == units.end() || !digits)
    throw usage_error("\"" + age + "\" is no age", "--older-than", "write 30d, 12h or 45m");
  return std::stol(age) * unit->second;
}

// The ended runs and sweeps that the options select.
std::vector<report::Row> selected(const GcOptions& o) {
  std::vector<std::string> problems;
  report::Catalog catalog = report::read_results(o.results);
  problems.swap(catalog.problems);
  auto rows = report::select(report::rows_of(std::move(catalog), o.results), {.status = o.status}, problems);
  tell_problems(problems);
  const std::time_t latest = o.older_than.empty() ? 0 : std::time(nullptr) - seconds_of(o.older_than);
  std::erase_if(rows, [&](const report::Row& row) {
    const report::View& view = row.view();
    const std::time_t ended = view.ended.value_or(view.started + static_cast<std::time_t>(view.seconds));
    return view.status == "running" || (latest != 0 && ended > latest);
  });
  return rows;
}

std::vector<Doomed> old_runs(const GcOptions& o, const References& references) {
  std::vector<report::Row> rows = selected(o);
  std::vector<fs::path> going;
  for (const report::Row& row : rows) going.push_back(row.view().folder);
  // What stays may name another one that then stays too.
  for (bool changed = true; changed;) {
    changed = std::erase_if(going, [&, all = going](const fs::path& folder) {
                return !references.user_of(folder, all).empty();
              }) > 0;
  }
  std::vector<Doomed> doomed;
  for (const report::Row& row : rows) {
    const fs::path& folder = row.view().folder;
    if (std::find(going.begin(), going.end(), folder) == going.end()) continue;
    doomed.push_back({.folder = folder, .what = row.view().status, .bytes = paths::size_on_disk(folder)});
  }
  return doomed;
}

// Trials keep their checkpoints: a search may continue them.
std::vector<Doomed> old_checkpoints(const GcOptions& o, const References& references) {
  std::vector<Doomed> doomed;
  for (const report::Row& row : selected(o)) {
    if (row.as_sweep()) continue;
    const fs::path checkpoints = record::RunDirectory(row.view().folder).checkpoints();
    const std::vector<fs::path> newest_first = record::complete_checkpoints(checkpoints);
    const std::vector<fs::path> best_first = record::by_metric(newest_first);
    std::set<fs::path> kept{record::latest_checkpoint(checkpoints)};
    if (!best_first.empty()) kept.insert(best_first.front());
    kept.insert(newest_first.begin(),
                newest_first.begin() + std::min<std::ptrdiff_t>(*o.keep_last, std::ssize(newest_first)));
    for (const fs::path& folder : newest_first) {
      if (kept.contains(folder) || !references.user_of(folder).empty()) continue;
      doomed.push_back({.folder = folder, .what = "", .bytes = paths::size_on_disk(folder)});
    }
  }
  return doomed;
}

void gc(const GcOptions& o) {
  if (!o.keep_last && o.older_than.empty() && o.status.empty()) {
    throw usage_error("nothing says what is to go", "gc", "give --keep-last, --older-than or --status");
  }
  const References references(o.results);
  if (o.keep_last) return remove(old_checkpoints(o, references), "checkpoint", o);
  remove(old_runs(o, references), "result", o);
}

void add_gc(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("gc", "remove old runs and sweeps, or with --keep-last only old checkpoints");
  auto options = std::make_shared<GcOptions>();
  verb->add_option(
          "--keep-last", options->keep_last,
          "remove checkpoints of ended runs, but for the newest N, the best, and those that another run begins with")
      ->check(CLI::Range(1, 1'000'000'000));
  verb->add_option("--older-than", options->older_than, "only results that ended this long ago: 30d, 12h, 45m");
  verb->add_option("--status", options->status, "only results of this status: completed, failed or interrupted");
  add_removal_options(*verb, *options);
  verb->callback([options] { gc(*options); });
}

const bool gc_registered = register_verb(107, add_gc);

}  // namespace

}  // namespace ddp::commands
