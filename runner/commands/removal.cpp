// rm and gc: the removal of runs, sweeps and old checkpoints.
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "record/file/atomic_file.h"
#include "record/run_directory.h"
#include "record/run_names.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/graphs.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "report/read/summary_view.h"
#include "report/select/query.h"
#include "report/select/row.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// The options of both commands.
struct RemovalOptions {
  std::string results = "results";
  std::vector<std::string> tags;
  std::vector<std::string> where;
  bool dry_run = false;
  bool yes = false;
};

// The files and folders of runs that other runs and sweeps name, each with who names it: the checkpoint from which a
// run was forked, and weights that a run or a sweep begins with.
class References {
 public:
  // Reads the runs and sweeps of these results folders.
  explicit References(const std::set<fs::path>& results);

  // Returns a run or sweep outside of `going` that names something in this folder; "": none.
  std::string user_of(const fs::path& folder, const std::vector<fs::path>& going = {}) const;

 private:
  void add(const fs::path& named, const fs::path& by);
  void add_weights(const std::string& named, const fs::path& by, const fs::path& results);
  void read(const fs::path& run, const fs::path& results);

  std::multimap<fs::path, fs::path> users_;  // named path: folder of who names it
};

// Folders that are to go: runs and sweeps, or old checkpoints.
struct Doomed {
  fs::path folder;   // or a link to a run elsewhere, which alone goes
  std::string what;  // name and status
  std::int64_t bytes = 0;
};

void add_removal_options(CLI::App& verb, RemovalOptions& options) {
  add_results(verb, options.results);
  add_tag(verb, options.tags, "only ended results with this tag");
  add_where(verb, options.where, "only ended results that match a condition");
  verb.add_flag("--dry-run", options.dry_run, "only print what would go");
  verb.add_flag("--yes", options.yes, "do not ask");
}

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? paths::absolute(path) : found;
}

bool is_in(const fs::path& path, const fs::path& folder) {
  const fs::path below = path.lexically_relative(folder);
  return !below.empty() && *below.begin() != "..";
}

References::References(const std::set<fs::path>& results) {
  for (const fs::path& root : results) {
    report::Catalog all = report::read_results(root);
    for (const report::SweepView& sweep : all.sweeps) {
      read(sweep.folder, root);
      for (const report::RunView& trial : report::read_trials(sweep.folder).runs) read(trial.folder, root);
    }
    for (const report::RunView& run : all.runs) read(run.folder, root);
  }
}

void References::add(const fs::path& named, const fs::path& by) { users_.emplace(resolved(named), resolved(by)); }

void References::read(const fs::path& run, const fs::path& results) try {
  const record::RunDirectory directory(run);
  const config::Value config =
      report::flat(report::read_config(directory.is_sweep() ? directory.sweep() : directory.config()));
  for (const auto& [key, value] : config.items()) {
    // Also of sweep.parameters, whose values may name runs under the results folder.
    if (!key.ends_with("init_from") && !key.ends_with("init_from.path")) continue;
    for (const config::Value& one : value.is_array() ? value : config::Value::array({value})) {
      if (one.is_string()) add_weights(one.get<std::string>(), run, results);
    }
  }
  if (const auto origin = record::origin_of(directory)) {
    const fs::path of = fs::path(origin->run).is_absolute() ? fs::path(origin->run) : results / origin->run;
    add(record::RunDirectory(of).checkpoints() / origin->checkpoint, run);
  }
} catch (const Error& error) {
  log::warn("not known from what this begins: " + std::string(error.what()));
}

void References::add_weights(const std::string& named, const fs::path& by, const fs::path& results) try {
  add(fs::path(named).is_absolute() ? fs::path(named) : record::RunDirectory::find(results, named).path(), by);
} catch (const Error&) {  // it names no run that exists
}

std::string References::user_of(const fs::path& folder, const std::vector<fs::path>& going) const {
  const fs::path own = resolved(folder);
  for (const auto& [named, by] : users_) {
    if (!is_in(named, own) || is_in(by, own)) continue;
    const bool goes =
        std::any_of(going.begin(), going.end(), [&](const fs::path& one) { return is_in(by, resolved(one)); });
    if (!goes) return by.string();
  }
  return "";
}

// A run loses its name before its files go: if a kill interrupts the removal, the rest is not taken for a run, and the
// next removal finds it.
constexpr const char* kRemoved = ".removed-";

void remove_rests(const fs::path& results) {
  std::error_code error;
  for (fs::directory_iterator name(results, error), end; !error && name != end; name.increment(error)) {
    std::error_code unreadable;
    for (fs::directory_iterator run(name->path(), unreadable), last; !unreadable && run != last;
         run.increment(unreadable)) {
      std::error_code stays;
      if (run->path().filename().string().starts_with(kRemoved)) fs::remove_all(run->path(), stays);
    }
  }
}

void point_latest_elsewhere(const fs::path& of_name, const fs::path& removed) {
  const fs::path latest = of_name / "latest";
  std::error_code none;
  if (fs::read_symlink(latest, none).filename() == removed.filename()) {
    fs::remove(latest, none);
    if (const auto newest = record::newest_inside(of_name)) record::link_atomically(latest, newest->folder.filename());
  }
  if (!fs::is_symlink(of_name, none)) fs::remove(of_name, none);  // only if nothing is left in it
}

bool is_link(const fs::path& folder) {
  std::error_code none;
  return fs::is_symlink(folder, none);
}

// Removes a link alone: the run that it leads to belongs to another results folder.
void remove_link(const fs::path& link) {
  const fs::path run = resolved(link);
  std::error_code error;
  fs::remove(link, error);
  if (error) throw usage_error("cannot be removed: " + error.message(), link.string());
  log::info(link.string() + " was a link; the run stays: " + run.string());
}

void remove_run(const fs::path& folder) {
  const fs::path own = resolved(folder.parent_path()) / folder.filename();
  const FileDescriptor lock = record::RunDirectory(own).lock();
  const fs::path rest = own.parent_path() / (kRemoved + own.filename().string());
  std::error_code error;
  fs::rename(own, rest, error);
  if (!error) fs::remove_all(rest, error);
  if (error) throw usage_error("cannot be removed: " + error.message(), folder.string());
  point_latest_elsewhere(own.parent_path(), own);
}

void remove_old_checkpoint(const fs::path& folder) {
  const FileDescriptor lock = record::RunDirectory(folder.parent_path().parent_path()).lock();
  record::remove_checkpoint(folder);
}

bool is_agreed(const RemovalOptions& options) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) == 0) throw usage_error("nobody can be asked here", "", "--yes removes without a question");
  std::cout << "remove? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// Prints what goes and how much that is, asks on a terminal, and removes it: a run or sweep only while no process
// writes it. Throws ddp::Error (usage) if nobody can be asked, or if one of them is written meanwhile.
void remove(const std::vector<Doomed>& doomed, const std::string& noun, const RemovalOptions& options) {
  report::Table table({{}, {.right = true}, {}});
  std::int64_t bytes = 0;
  for (const Doomed& one : doomed) {
    table.row({one.folder.string(), report::bytes_in_words(one.bytes), one.what});
    bytes += one.bytes;
  }
  table.print(std::cout, report::terminal_of_stdout());
  std::cout << report::counted(static_cast<std::int64_t>(doomed.size()), noun) << ", " << report::bytes_in_words(bytes)
            << std::endl;
  if (options.dry_run || doomed.empty()) return;
  if (!is_agreed(options)) return log::info("nothing was removed");
  remove_rests(options.results);
  for (const Doomed& one : doomed) {
    if (record::is_checkpoint_name(one.folder.filename().string())) {
      remove_old_checkpoint(one.folder);
    } else if (is_link(one.folder)) {
      remove_link(one.folder);
    } else {
      remove_run(one.folder);
    }
  }
  record::remove_unused_graphs(options.results);
}

struct RmOptions : RemovalOptions {
  std::vector<std::string> runs;
};

Doomed doomed_run(const fs::path& folder, const std::string& results) {
  const record::RunDirectory own(paths::absolute(folder));
  if (own.is_trial())
    throw usage_error("this is a trial; its sweep needs it", folder.string(), "remove the whole sweep");
  const report::Row row = read_result(folder, results);
  if (is_link(folder)) return {.folder = folder, .what = "a link to " + resolved(folder).string()};
  if (row.view().status == "running") {
    throw usage_error("is running", folder.string(), "stop it first: " + own_command("stop " + path_word(folder)));
  }
  return {.folder = folder, .what = row.view().status, .bytes = paths::size_on_disk(folder)};
}

// Returns the link that a name stands for; "": it stands for a folder.
fs::path link_named(const fs::path& results, const std::string& name) {
  for (const fs::path& path : {results / name, fs::path(name)}) {
    const fs::path plain = path.lexically_normal();
    const fs::path link = plain.has_filename() ? plain : plain.parent_path();
    if (link.filename() != "latest" && is_link(link) && record::RunDirectory(link).begun()) return link;
  }
  return {};
}

// Returns the ended runs and sweeps that a query selects.
std::vector<report::Row> ended(const RemovalOptions& o, report::Query query) {
  std::vector<std::string> problems;
  report::Catalog catalog = report::read_results(o.results);
  problems.swap(catalog.problems);
  query.tags = o.tags;
  query.where = conditions_of(o.where);
  auto rows = report::select(report::rows_of(std::move(catalog), o.results), query, problems);
  log::warn_of(problems);
  std::erase_if(rows, [](const report::Row& row) { return row.view().status == "running"; });
  return rows;
}

// Returns the folders that are to go: those of the names, or all that match.
std::vector<fs::path> going_of(const RmOptions& o) {
  std::vector<fs::path> going;
  const bool selects = !o.tags.empty() || !o.where.empty();
  if (o.runs.empty() == !selects) {
    throw usage_error(selects ? "names runs, and selects by --tag or --where" : "names no run", "rm",
                      "give the names of runs, or --tag and --where alone");
  }
  if (selects) {
    for (const report::Row& row : ended(o, {})) going.push_back(row.view().folder);
  }
  for (const std::string& name : o.runs) {
    const fs::path link = link_named(o.results, name);
    const fs::path folder = link.empty() ? record::RunDirectory::find(o.results, name).path() : link;
    if (std::find(going.begin(), going.end(), folder) == going.end()) going.push_back(folder);
  }
  return going;
}

void rm(const RmOptions& o) {
  const std::vector<fs::path> going = going_of(o);
  std::vector<Doomed> doomed;
  for (const fs::path& folder : going) doomed.push_back(doomed_run(folder, o.results));
  // A run may lie under another results folder.
  std::set<fs::path> roots{resolved(o.results)};
  for (const fs::path& folder : going) roots.insert(resolved(folder).parent_path().parent_path());
  const References references(roots);
  for (const fs::path& folder : going) {
    if (is_link(folder)) continue;
    if (const std::string user = references.user_of(folder, going); !user.empty()) {
      throw usage_error("another run begins with one of its checkpoints: " + user, folder.string(),
                        "remove that one too");
    }
  }
  remove(doomed, "result", o);
}

void add_rm(CLI::App& verb, RmOptions& options) {
  completes(verb.add_option("RUN", options.runs, kRunInWords), completion::runs);
  add_removal_options(verb, options);
}

const bool rm_registered = register_verb(106, "rm", "remove runs and sweeps, after a question", add_rm, rm,
                                         {.examples = {"rm basic", "rm basic faster --yes"}});

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

// The ended runs and sweeps that the options select. A link's run belongs to another results folder.
std::vector<report::Row> selected(const GcOptions& o) {
  std::vector<report::Row> rows = ended(o, {.status = o.status});
  const std::time_t latest = o.older_than.empty() ? 0 : std::time(nullptr) - seconds_of(o.older_than);
  std::erase_if(rows, [&](const report::Row& row) {
    const report::View& view = row.view();
    const std::time_t at = view.ended.value_or(view.started + static_cast<std::time_t>(view.seconds));
    return is_link(view.folder) || (latest != 0 && at > latest);
  });
  return rows;
}

std::vector<Doomed> old_runs(const GcOptions& o, const References& references) {
  std::vector<report::Row> rows = selected(o);
  std::vector<fs::path> going;
  for (const report::Row& row : rows) going.push_back(row.view().folder);
  // A result that stays keeps those that it names.
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
  if (!o.keep_last && o.older_than.empty() && o.status.empty() && o.tags.empty() && o.where.empty()) {
    throw usage_error("nothing says what is to go", "gc", "give --keep-last, --older-than, --status, --tag or --where");
  }
  const References references({o.results});
  if (o.keep_last) return remove(old_checkpoints(o, references), "checkpoint", o);
  remove(old_runs(o, references), "result", o);
}

void add_gc(CLI::App& verb, GcOptions& options) {
  verb.add_option(
          "--keep-last", options.keep_last,
          "remove checkpoints of ended runs, but for the newest N, the best, and those that another run begins with")
      ->check(CLI::Range(1, 1'000'000'000));
  verb.add_option("--older-than", options.older_than, "only results that ended this long ago: 30d, 12h, 45m");
  add_status(verb, options.status, "only results of this status: completed, failed or interrupted");
  add_removal_options(verb, options);
}

const bool gc_registered =
    register_verb(107, "gc", "remove old runs and sweeps, or with --keep-last only old checkpoints", add_gc, gc,
                  {.examples = {"gc --keep-last 1 --dry-run", "gc --status failed --older-than 30d --yes"}});

}  // namespace

}  // namespace ddp::commands
