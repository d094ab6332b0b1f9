#include "commands/tidy/removal.h"

#include <unistd.h>
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "commands/options.h"
#include "record/file/atomic_file.h"
#include "record/run_directory.h"
#include "record/run_names.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "report/read/summary_view.h"
#include "report/select/row.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace fs = std::filesystem;

void add_removal_options(CLI::App& verb, RemovalOptions& options) {
  add_results(verb, options.results);
  verb.add_flag("--dry-run", options.dry_run, "only print what would go");
  verb.add_flag("--yes", options.yes, "do not ask");
}

namespace {

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? paths::absolute(path) : found;
}

bool is_in(const fs::path& path, const fs::path& folder) {
  const fs::path below = path.lexically_relative(folder);
  return !below.empty() && *below.begin() != "..";
}

}  // namespace

References::References(const fs::path& results) {
  report::Catalog all = report::read_results(results);
  for (const report::SweepView& sweep : all.sweeps) {
    read(sweep.folder, results);
    for (const report::RunView& trial : report::read_trials(sweep.folder).runs) read(trial.folder, results);
  }
  for (const report::RunView& run : all.runs) read(run.folder, results);
}

void References::add(const fs::path& named, const fs::path& by) { users_.emplace(resolved(named), resolved(by)); }

void References::read(const fs::path& run, const fs::path& results) try {
  const record::RunDirectory directory(run);
  const config::Value config =
      report::flat(report::read_config(directory.is_sweep() ? directory.sweep() : directory.config()));
  for (const char* key : {"init_from", "init_from.path"}) {
    const auto weights = config.find(key);
    if (weights == config.end() || !weights->is_string()) continue;
    const std::string path = weights->get<std::string>();
    add(path, run);
    add(results / path, run);  // a sweep's file may name a run under the results folder
  }
  if (const auto origin = record::origin_of(directory)) {
    const fs::path of = fs::path(origin->run).is_absolute() ? fs::path(origin->run) : results / origin->run;
    add(record::RunDirectory(of).checkpoints() / origin->checkpoint, run);
  }
} catch (const Error& error) {
  log::warn("not known from what this begins: " + std::string(error.what()));
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

namespace {

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
  fs::remove(of_name, none);  // only if nothing is left in it
}

void remove_run(const fs::path& folder) {
  const fs::path own = resolved(folder);
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

}  // namespace

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
    } else {
      remove_run(one.folder);
    }
  }
}

}  // namespace ddp::commands
