#include "runs/audit.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/text/toml.h"
#include "launch/cluster/launcher.h"
#include "launch/library/plugin.h"
#include "launch/process/stop_signals.h"
#include "launch/start/objects.h"
#include "record/file/atomic_file.h"
#include "record/metrics/event_reader.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"
#include "record/saves/same_bits.h"
#include "runs/environment.h"
#include "runs/prepare.h"
#include "runs/resume.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAudit = "audit.json";

// The changes of a run when it resumed.
struct Change {
  std::int64_t step = 0;
  int ranks = 0;                // from here on
  config::Value settings = {};  // {"optimizer.lr": [0.1, 0.01]}
};

std::vector<Change> changes_of_run(const record::RunDirectory& run) {
  std::vector<Change> changes;
  record::EventReader events(run.metrics(), {record::EventKind::resume});
  while (const record::Event* event = events.next()) {
    config::Value settings = event->members.value("changes", config::Value::object());
    settings.erase("device_pool");
    changes.push_back(
        {.step = event->step, .ranks = event->members.value("world_size", 0), .settings = std::move(settings)});
  }
  return changes;
}

bool changes_sources(const Change& change) { return change.settings.contains("sources"); }

// Returns the --set that undo these changes, the first one last: the settings before it. Throws ddp::Error (usage) if a
// key had no value before.
std::vector<std::string> settings_before(const std::vector<Change>& changes, std::size_t first) {
  std::vector<std::string> sets;
  for (std::size_t i = changes.size(); i-- > first;) {
    for (const auto& [key, values] : changes[i].settings.items()) {
      if (values.at(0).is_null()) {
        throw usage_error(
            "was set for the first time when the run resumed after step " + std::to_string(changes[i].step), key,
            "audit compares the steps before and after it: " + own_command("audit RUN"));
      }
      std::string value = config::to_toml_value(values.at(0));
      std::replace(value.begin(), value.end(), '\n', ' ');  // a --set is one line
      sets.push_back(key + "=" + value);
    }
  }
  return sets;
}

// Compares the place and the content with those of the training. Prints other places. Throws ddp::Error (usage) if
// data, sources or graphs have changed: then no bits can be the same.
Audit begin_audit(const record::RunDirectory& run) {
  auto loaded = launch::load_experiment(run.config(), {});
  with_lines(loaded, [&] { launch::ObjectShelf().fetch(loaded.experiment); });
  Audit audit{.run = paths::absolute(run.path()).string(),
              .then = record::environment_in(record::last_summary(run)),
              .now = environment_of(loaded.experiment, run)};
  if (!audit.then) return audit;
  if (const std::string other = difference_of_content(*audit.then, audit.now); !other.empty()) {
    throw usage_error(other, run.path().string(), "put back what the run was trained with");
  }
  audit.places = differences_of_place(*audit.then, audit.now);
  for (const std::string& place : audit.places) log::warn("differs from the training: " + place);
  return audit;
}

// Makes a folder with the files of another one: as hard links, else as copies.
void link_files(const fs::path& from, const fs::path& to) {
  fs::create_directory(to);
  for (const auto& file : fs::directory_iterator(from)) {
    const fs::path own = to / file.path().filename();
    std::error_code error;
    fs::create_hard_link(file.path(), own, error);
    if (error) fs::copy_file(file.path(), own);
  }
}

// Makes `copy` a run that stands at this checkpoint of `run`; an empty `checkpoint`: at its start.
void stand_at(const record::RunDirectory& run, const fs::path& checkpoint, const fs::path& settings,
              const record::RunDirectory& copy) try {
  fs::create_directories(copy.checkpoints());
  fs::create_directories(copy.log(0).parent_path());
  fs::copy_file(settings, copy.config(), fs::copy_options::overwrite_existing);
  std::error_code none;
  if (fs::exists(run.sources(), none) && !fs::exists(copy.sources(), none)) {
    fs::copy(run.sources(), copy.sources(), fs::copy_options::recursive);
  }
  if (fs::exists(run.graphs(), none) && !fs::exists(copy.graphs(), none)) link_files(run.graphs(), copy.graphs());
  if (checkpoint.empty()) return;
  const fs::path own = copy.checkpoints() / checkpoint.filename();
  link_files(checkpoint, own);
  record::link_atomically(copy.checkpoints() / "latest", own.filename());
} catch (const fs::filesystem_error& error) {
  throw training_error("cannot be copied: " + error.code().message(), run.path().string());
}

// Trains from where the directory stands to that step. Returns the signal's exit code if it was stopped, else 0.
int train_again(ResumeRequest again, const AuditRequest& o) {
  if (!o.device_pool.empty()) again.sets.push_back("device_pool=" + o.device_pool);
  again.data_changed = true;
  launch::Launch launch = launch::choose_launch({});
  const int code = launch::lead(launch, launch::terms_of(launch, "audit", config::Value::object()),
                                patience_of(config::Experiment{}),
                                [&](launch::Nodes* nodes) { return resume(again, launch, nodes); });
  const fs::path reached = record::latest_checkpoint(again.directory.checkpoints());
  const bool ended_early = code == 0 && (reached.empty() || record::step_of(reached) != again.until_step);
  if (code == 1 || ended_early) {
    throw training_error("did not reach step " + std::to_string(again.until_step) + " again",
                         again.directory.path().string());
  }
  return code;
}

Stretch compared(std::int64_t from, const fs::path& checkpoint, const record::RunDirectory& copy) {
  Stretch stretch{.from = from, .to = record::step_of(checkpoint)};
  stretch.difference = record::first_other_bits(checkpoint, copy.checkpoints() / checkpoint.filename());
  stretch.same = stretch.difference.empty();
  return stretch;
}

void tell(const Stretch& stretch, const AuditRequest& o) {
  const std::string steps = "steps " + std::to_string(stretch.from + 1) + " to " + std::to_string(stretch.to);
  if (o.tell) o.tell(steps + ": " + (stretch.same ? "same bits" : "other bits: " + stretch.difference));
}

// Writes audit.json into that folder.
Audited kept(Audit audit, const record::RunDirectory& where) {
  record::write_atomically(where.path() / kAudit, config::written(audit).dump(2) + "\n");
  return {.audit = std::move(audit)};
}

// A folder inside the run's: hard links need no space there.
class Scratch {
 public:
  explicit Scratch(const record::RunDirectory& run) : folder_(run.path() / ".audit") { fs::remove_all(folder_); }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  record::RunDirectory next() { return record::RunDirectory(folder_ / std::to_string(++count_)); }

 private:
  const fs::path folder_;
  int count_ = 0;
};

// Returns the checkpoint of a fork's start: its own, or its origin's; empty: it is no fork. Throws ddp::Error (usage)
// if it is gone.
fs::path start_of(const record::RunDirectory& run, const fs::path& results) {
  const auto origin = record::origin_of(run);
  if (!origin) return "";
  const auto of_step = [&](const record::RunDirectory& directory) {
    const auto all = record::complete_checkpoints(directory.checkpoints());
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const fs::path& saved) { return record::step_of(saved) == origin->step; });
    return found == all.end() ? fs::path() : *found;
  };
  if (fs::path own = of_step(run); !own.empty()) return own;
  fs::path of_origin = of_step(record::RunDirectory::find(results, origin->run));
  if (!of_origin.empty()) return of_origin;
  throw usage_error("is a fork, and its origin has lost the checkpoint of step " + std::to_string(origin->step),
                    run.path().string(), "checkpoint.keep_last keeps more of them");
}

// Returns the neighbours to compare, oldest first: all, or so many of them, spread evenly. Leaves out those that cannot
// have the same bits: the settings changed between them, or data or sources after them.
std::vector<std::pair<fs::path, fs::path>> stretches_of(const record::RunDirectory& run, const AuditRequest& o) {
  auto saved = record::complete_checkpoints(run.checkpoints());
  std::reverse(saved.begin(), saved.end());
  const auto changes = changes_of_run(run);
  std::vector<std::pair<fs::path, fs::path>> all;
  for (std::size_t i = 1; i < saved.size(); ++i) {
    const std::int64_t from = record::step_of(saved[i - 1]);
    const std::int64_t to = record::step_of(saved[i]);
    const bool changed = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return (from < change.step && change.step < to && !change.settings.empty()) ||
             (to <= change.step && changes_sources(change));
    });
    const auto other_data =
        record::data_difference(record::files_of_checkpoint(saved[i]), record::files_of_checkpoint(saved.back()));
    if (!changed && other_data.path.empty()) all.emplace_back(saved[i - 1], saved[i]);
  }
  if (all.size() + 1 < saved.size()) {
    log::warn(std::to_string(saved.size() - 1 - all.size()) +
              " stretches are left out: settings changed inside them, or data or sources after them");
  }
  if (all.empty()) {
    start_of(run, o.results);  // reproduce needs it
    throw usage_error("has no two checkpoints between which it could be trained again", run.path().string(),
                      "train it from its start: " + own_command("reproduce " + path_word(run.path())));
  }
  const std::optional<int>& most = o.stretches;
  if (!most || static_cast<std::size_t>(*most) >= all.size()) return all;
  std::vector<std::pair<fs::path, fs::path>> some;
  for (int i = 0; i < *most; ++i) some.push_back(all[all.size() * (i + 1) / *most - 1]);
  return some;
}

// Throws ddp::Error (usage) if the run cannot be repeated from its start as that many ranks.
void require_repeatable(const record::RunDirectory& run, config::Experiment experiment,
                        const std::vector<Change>& changes, int ranks, bool forked) {
  if (!forked) record::use_first_graphs_of(run, experiment);
  for (const Change& change : changes) {
    const std::string resumed = "when the run resumed after step " + std::to_string(change.step);
    if (changes_sources(change)) throw usage_error("changed " + resumed, "sources", "audit compares the later steps");
    if (!experiment.logical_ranks && change.ranks != ranks) {
      throw usage_error("changed its number of ranks " + resumed + ", and has no logical_ranks", run.path().string(),
                        "audit compares the stretches: " + own_command("audit " + path_word(run.path())));
    }
  }
  launch::load_experiment(run.config(), settings_before(changes, 0));
}

// Opens the folder of the reproduction. `o.run_id` may name one that was stopped.
record::RunDirectory open_reproduction(const record::RunDirectory& run, const fs::path& start, const std::string& name,
                                       const AuditRequest& o, Audit& audit) {
  record::RunDirectory again(fs::path(o.results) / name / o.run_id);
  if (!o.run_id.empty() && again.begun()) {
    std::error_code none;
    const bool is_one = fs::exists(again.path() / kAudit, none) &&
                        config::Value::parse(record::read_text(again.path() / kAudit)).value("run", "") == audit.run;
    if (!is_one)
      throw usage_error("exists, and is no reproduction of " + audit.run, again.path().string(),
                        "give another --run-id");
    audit.again = again.path().string();
    return again;
  }
  again = record::RunDirectory::create(o.results, name, o.run_id);
  audit.again = again.path().string();
  const FileDescriptor lock = again.lock();
  stand_at(run, start, run.config(), again);
  audit.same = false;  // not yet
  record::write_atomically(again.path() / kAudit, config::written(audit).dump(2) + "\n");
  return again;
}

}  // namespace

Audited audit(const AuditRequest& o) {
  const record::RunDirectory& run = o.run;
  const FileDescriptor lock = run.lock();
  Audit audit = begin_audit(run);
  const launch::BlockedStopSignals signals;  // one between two stretches stops the next one
  Scratch scratch(run);
  for (const auto& [from, to] : stretches_of(run, o)) {
    record::require_whole(from);
    record::require_whole(to);
    const auto copy = scratch.next();
    stand_at(run, from, record::settings_file(run, to), copy);
    const ResumeRequest again{.directory = copy,
                              .results = o.results,
                              .compared_ranks = record::position_of(to).world_size,
                              .until_step = record::step_of(to)};
    if (const int stopped = train_again(again, o); stopped != 0) return {.stopped = stopped};
    audit.stretches.push_back(compared(record::step_of(from), to, copy));
    audit.same = audit.same && audit.stretches.back().same;
    tell(audit.stretches.back(), o);
    fs::remove_all(copy.path());
  }
  return kept(std::move(audit), run);
}

Audited reproduce(const AuditRequest& o) {
  const record::RunDirectory& run = o.run;
  Audit audit = begin_audit(run);
  const fs::path last = record::newest_whole(run.checkpoints());
  if (last.empty()) throw usage_error("has no checkpoint to compare with", run.path().string());
  const int ranks = record::position_of(last).world_size;
  const fs::path start = start_of(run, o.results);
  const std::int64_t first = start.empty() ? 0 : record::step_of(start);
  auto changes = changes_of_run(run);
  // A fork's first line tells its changes to its origin.
  std::erase_if(changes, [&](const Change& change) { return !start.empty() && change.step <= first; });
  const config::Experiment experiment = launch::load_experiment(run.config(), {}).experiment;
  require_repeatable(run, experiment, changes, ranks, !start.empty());
  std::erase_if(changes, [](const Change& change) { return change.settings.empty(); });
  const auto again = open_reproduction(run, start, experiment.name, o, audit);
  bool is_new = !fs::exists(again.metrics());
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    const std::int64_t to = i < changes.size() ? changes[i].step : record::step_of(last);
    const fs::path done = record::latest_checkpoint(again.checkpoints());
    if (!done.empty() && record::step_of(done) >= to) continue;
    stand_at(run, "", run.config(), again);
    try {
      const int stopped = train_again({.directory = again,
                                       .results = o.results,
                                       .sets = settings_before(changes, i),
                                       .compared_ranks = ranks,
                                       .until_step = to,
                                       .show = is_new ? o.show : nullptr},
                                      o);
      if (stopped != 0) return {.stopped = stopped};
    } catch (const Error&) {
      if (is_new && !fs::exists(again.metrics())) fs::remove_all(again.path());  // nothing has begun
      throw;
    }
    is_new = false;
  }
  audit.stretches.push_back(compared(first, last, again));
  audit.same = audit.stretches.back().same;
  tell(audit.stretches.back(), o);
  return kept(std::move(audit), again);
}

}  // namespace ddp::runs
