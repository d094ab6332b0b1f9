#include "runs/resume.h"

#include <algorithm>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "config/length.h"
#include "config/load/files.h"
#include "launch/library/plugin.h"
#include "launch/start/objects.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/graphs.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "report/read/summary_view.h"
#include "runs/changes.h"
#include "runs/train.h"
#include "schedule/change.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// Returns the length of the whole run as the ranks that resume from `at` count it. `batch_then` is the batch size
// before `at`.
config::Length whole_length(const config::Experiment& e, int world_size, std::int64_t samples,
                            const record::Position& at, std::int64_t batch_then) {
  if (samples == 0) return config::length_of(e, 0);
  const auto batches = [&](std::int64_t left) {
    return config::micro_batches_of_rank(left, world_size, *e.batch_size, e.loader);
  };
  const config::EpochPlace then{
      .position = at.position, .offset = at.offset, .world_size = at.world_size, .batch_size = batch_then};
  const config::EpochPlace now = then.converted(world_size, *e.batch_size);
  std::optional<std::int64_t> left;
  if (at.inside_epoch()) left = batches(std::max<std::int64_t>(0, samples - now.offset)) - now.position;
  return config::length_of(e, batches(samples), config::Done::at(at.epoch, at.step, left));
}

// Describes the effect of the changes on lr. A run that starts over has a new schedule from its first step.
std::string lr_change_of(const Prepared& p) {
  const Standing& s = p.standing;
  const config::Experiment& before = s.before;
  if (s.changes.empty() || !s.has_checkpoint() || !before.batch_size || s.finished) return "";
  const launch::Plan& plan = p.plan;
  const std::int64_t samples = p.probe.train_samples;
  const record::Position& at = s.position;
  const auto length = [&](const config::Experiment& e, int ranks) {
    return whole_length(e, ranks, samples, at, *before.batch_size);
  };
  return schedule::change_in_words(
      {.experiment = before, .length = length(before, at.world_size)},
      {.experiment = plan.experiment, .length = length(plan.experiment, plan.logical_ranks())}, at.step);
}

bool sets_batch_size(const std::vector<std::string>& sets) {
  return std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return set.starts_with("batch_size=") || set.starts_with("global_batch_size=");
  });
}

// Returns the options that name data files and were set, directly or with their section.
std::vector<std::string> set_data_keys(const config::Experiment& before, const config::Experiment& now) {
  const config::Value changes = changes_of(before, now);
  std::vector<std::string> keys;
  for (const auto& file : config::named_files(now)) {
    const std::string section = file.key.substr(0, file.key.rfind('.'));
    const bool set = changes.contains(file.key) || changes.contains(section) || changes.contains(section + ".name");
    if (set) keys.push_back(file.key);
  }
  // Options that the file no longer has.
  for (const auto& [key, values] : changes.items()) keys.push_back(key);
  return keys;
}

// Returns the means, categories and classes of a run's first training: a resumed run keeps them, even if its data
// changed. Null: they are fitted again, because options of the data were set, or because the ranks that other processes
// start cannot see the checkpoint.
config::Value kept_fit(const launch::Launch& launch, const fs::path& checkpoint, const config::Experiment& before,
                       const config::Experiment& now) {
  if (checkpoint.empty() || launch.one_rank || launch.nodes > 1) return nullptr;
  const config::Value changes = changes_of(before, now);
  const auto names_files = [&](const std::string& key) {
    const auto files = config::named_files(now);
    return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.key == key; });
  };
  const bool refits = std::any_of(changes.items().begin(), changes.items().end(), [&](const auto& change) {
    const std::string& key = change.key();
    return (key.starts_with("dataset") && !keeps_samples(key) && !names_files(key)) || key.starts_with("loss");
  });
  return refits ? config::Value(nullptr) : record::fitted_to_data(checkpoint);
}

// Returns the rows of the checkpoint's data if they need not be read again, because neither the files nor what chooses
// the sets has changed: a row of a stream costs a block. `fit`: as kept_fit() returns it.
std::optional<config::Rows> kept_rows(const fs::path& checkpoint, const config::Value& fit,
                                      const config::Experiment& before, const config::Experiment& now) {
  if (fit.is_null() || !now.loader.stream) return {};
  if (!record::data_difference(record::files_of_checkpoint(checkpoint), record::data_files(now)).path.empty())
    return {};
  const config::Value changes = changes_of(before, now);
  const bool has_other_sets = std::any_of(changes.items().begin(), changes.items().end(), [](const auto& change) {
    const auto begins = [&](const char* section) { return change.key().starts_with(section); };
    return begins("validation") || begins("test") || begins("folds") || begins("dataset");
  });
  const auto rows = has_other_sets ? std::nullopt : record::rows_of_checkpoint(checkpoint);
  return rows && rows->any() ? rows : std::nullopt;
}

// Was the batch size in the run's config.toml changed by hand? The program changes it only to keep the samples of a
// step on another number of ranks.
bool edits_batch_size(const record::RunDirectory& run, const config::Experiment& before, const config::Experiment& now,
                      const record::Position& at) {
  if (now.batch_size == before.batch_size) return false;
  const config::Value ranks = record::last_summary(run).value("world_size", config::Value());
  return !now.batch_size || !ranks.is_number_integer() ||
         *now.batch_size * ranks.get<std::int64_t>() * now.accumulate != at.global_batch_size;
}

// Before a run goes back to a checkpoint that `--from` names: reports the checkpoints and the lines of metrics.jsonl
// that it loses, and the fork that would keep them. Silent if it loses nothing.
void tell_what_goes(const ResumeRequest& r, const Standing& standing) {
  if (r.from == "latest") return;
  const std::int64_t step = standing.position.step;
  report::RunView reached;
  reached.folder = r.directory.path();
  report::add_progress(reached);
  std::string checkpoints;  // the later ones, oldest first
  for (const fs::path& folder : record::checkpoint_folders(r.directory.checkpoints())) {
    if (record::step_of(folder) <= step) continue;
    checkpoints = folder.filename().string() + (checkpoints.empty() ? "" : ", ") + checkpoints;
  }
  std::string what;
  if (reached.steps > step) {
    what = "the lines of steps " + std::to_string(step + 1) + " to " + std::to_string(reached.steps) +
           " in metrics.jsonl are removed now";
  }
  if (!checkpoints.empty()) {
    what += std::string(what.empty() ? "" : "; ") + "the next save removes these checkpoints: " + checkpoints;
  }
  if (what.empty()) return;
  log::warn(
      "going back to step " + std::to_string(step) + ": " + what + "\n  a fork keeps them: " +
      with_sets(own_command("fork " + path_word(r.directory.path()) + " --from " + std::to_string(step)), r.sets));
}

// Throws ddp::Error (usage) if the files of the data have changed and are not accepted. A run that has ended trains no
// further: its data do not matter.
void check_data(const ResumeRequest& r, const Standing& s) {
  const config::Experiment& e = s.loaded.experiment;
  if (r.data_changed || s.finished) return;
  record::require_same_data(s.checkpoint, record::data_files(e), set_data_keys(s.before, e));
}

// Chooses the checkpoint, and reads the settings before and now.
Standing choose(const ResumeRequest& r, const launch::Launch& launch, bool forks) {
  Standing s{.directory = r.directory, .continues = !forks, .checkpoint = choose_checkpoint(r.directory, r.from)};
  s.loaded = forks ? trained_settings(r.directory, s.checkpoint, r.sets)
                   : launch::load_experiment(r.directory.config(), r.sets);
  config::Experiment& now = s.loaded.experiment;
  if (s.has_checkpoint() && !forks) record::use_graphs_of(r.directory, now);
  // A run without a checkpoint starts over with the weights that it began with, if it has kept them.
  if (!s.has_checkpoint()) record::use_first_graphs_of(r.directory, now);
  if (launch.leads()) launch::tell_changed_sources(now, r.directory);
  // Loaded with the new components if they suffice: --set may replace sources because the run's copy no longer
  // compiles.
  s.before = experiment_before(record::settings_file(r.directory, s.checkpoint), now);
  if (const auto origin = record::origin_of(r.directory); origin && !s.has_checkpoint()) {
    throw usage_error(
        "the checkpoint from which this fork started is missing", r.directory.checkpoints().string(),
        "fork again: " + own_command("fork " + shell_word(origin->run) + " --from " + std::to_string(origin->step)));
  }
  if (r.from == "latest") check_saves(r.directory, s.checkpoint, launch.leads());
  if (!s.has_checkpoint() && launch.leads()) launch::find_weights(s.loaded, r.results);
  if (s.has_checkpoint()) s.position = record::position_of(s.checkpoint);
  s.finished = has_ended(now, s.position);
  with_lines(s.loaded, [&] { launch::ObjectShelf().fetch(now); });
  return s;
}

Prepared prepare_chosen(Standing s, const ResumeRequest& r, const launch::Launch& launch) {
  config::Experiment& now = s.loaded.experiment;
  const bool other_rows = s.has_checkpoint() && now.draws_sets() && record::has_other_data(s.checkpoint, now);
  const std::optional<config::Rows> rows = other_rows ? record::rows_of_checkpoint(s.checkpoint) : std::nullopt;
  const std::vector<std::int64_t> known_before = now.validation.known_rows;
  std::vector<std::int64_t>& known = now.validation.known_rows;
  if (rows && (known.empty() || known.back() < rows->count)) known.push_back(rows->count);
  std::optional<std::int64_t> global_batch_size;
  if (s.has_checkpoint() && !sets_batch_size(r.sets) && !edits_batch_size(r.directory, s.before, now, s.position)) {
    global_batch_size = s.position.global_batch_size;
  }
  const config::Value fit = kept_fit(launch, s.checkpoint, s.before, now);
  const std::optional<config::Rows> same_rows = kept_rows(s.checkpoint, fit, s.before, now);
  Prepared p = prepare(std::move(s), launch, global_batch_size, {.preprocessing = fit, .rows = same_rows});
  if (!other_rows) return p;
  // Folds, and the last rows of an order, are chosen among all rows.
  const config::Experiment& chosen = p.plan.experiment;
  record::require_known_rows(p.standing.checkpoint, p.probe.rows,
                             /*may_grow=*/!chosen.folds.on() && chosen.validation.last == 0);
  // Without new rows there is no new part.
  if (p.probe.rows.count != rows->count) return p;
  for (config::Experiment* e : {&p.standing.loaded.experiment, &p.plan.experiment}) {
    e->validation.known_rows = known_before;
  }
  return p;
}

// Reports that the run has ended, and brings its summary and checkpoints up to date.
void tell_nothing_to_do(const Prepared& p) {
  const Standing& s = p.standing;
  const std::string step = std::to_string(s.position.step);
  const std::string rule = s.ended_by_rule();
  if (!rule.empty()) {
    log::info("nothing to do: this run has ended after step " + step + ", by stop." + rule + "; continue it with " +
              s.weaker_rule());
  } else {
    log::info("nothing to do: this run has done its " + step + " steps; train for longer with " + s.longer_run());
  }
  settle(p.plan, s);
  // A kill after the last save may have left checkpoints that should have been removed.
  const auto& keep = p.plan.experiment.checkpoint;
  record::remove_unfinished(s.directory.checkpoints());
  record::retain(s.directory.checkpoints(), keep.newest_to_keep(), keep.keep_best);
}

// The folder of a run has its name: another name takes another folder.
void require_same_name(const ResumeRequest& r, const Standing& s) {
  const std::string& name = s.loaded.experiment.name;
  // The first checkpoint of a fork may have its origin's name.
  const bool is_of_folder = name == r.directory.path().parent_path().filename();
  if (!s.changes.contains("name") || is_of_folder) return;
  std::vector<std::string> others = r.sets;
  std::erase_if(others, [](const std::string& set) { return set.substr(0, set.find_first_of("= ")) == "name"; });
  const std::string fork = own_command("fork " + path_word(r.directory.path()) + " --name " + shell_word(name));
  throw s.loaded.error("name", "a run keeps its name: its folder is " + r.directory.path().string(),
                       "start a run of another name from its checkpoint: " + with_sets(fork, others));
}

// Another number of ranks adds in another order.
void require_same_ranks(const ResumeRequest& r, const launch::Plan& plan) {
  if (r.compared_ranks == 0 || r.compared_ranks == plan.logical_ranks()) return;
  throw usage_error(
      "was computed by " + std::to_string(r.compared_ranks) + " ranks, and this command has " +
          std::to_string(plan.logical_ranks()),
      r.directory.path().string(),
      "give as many devices (--device-pool); a run with logical_ranks = N has the same bits on any number");
}

// A kill after the last save leaves the sets unmeasured: only the measurements are still to do.
bool is_measured(const Prepared& p) {
  const config::Experiment& e = p.plan.experiment;
  const config::Value summary = record::last_summary(p.standing.directory);
  if ((!e.validation.exists() && !e.test.exists()) || summary.value("status", config::Value()) == "completed") {
    return true;
  }
  std::error_code none;
  const bool has_test = !e.test.exists() || !summary.value("test", config::Value()).is_null();
  return has_test && fs::exists(p.standing.directory.evaluation(), none);
}

}  // namespace

Prepared prepare_to_go_on(const ResumeRequest& r, const launch::Launch& launch, bool forks) {
  Standing chosen = choose(r, launch, forks);
  if (chosen.has_checkpoint()) {
    require_allowed_changes(chosen.before, chosen.loaded);
    if (launch.leads()) check_data(r, chosen);
  }
  Prepared p = prepare_chosen(std::move(chosen), r, launch);
  Standing& s = p.standing;
  if (s.position.inside_epoch()) require_same_order(p);
  const config::Experiment& now = p.plan.experiment;
  s.changes = changes_of(s.before, now);
  s.warnings = {lr_change_of(p)};
  if (s.has_checkpoint()) {
    s.warnings.push_back(held_out_after_training(s.before, now));
    s.warnings.push_back(best_change(s.before, now, record::files_of_checkpoint(s.checkpoint), p.data.files()));
  }
  std::erase(s.warnings, "");
  return p;
}

int resume(const ResumeRequest& r, const launch::Launch& launch, launch::Nodes* nodes) {
  FileDescriptor lock;
  if (launch.leads()) lock = r.directory.lock();
  Prepared p = prepare_to_go_on(r, launch, /*forks=*/false);
  p.standing.lock = std::move(lock);
  require_same_name(r, p.standing);
  require_same_ranks(r, p.plan);
  // After a restart by the launcher the folder is not printed again.
  const auto show_once = [&](const record::RunDirectory& directory) {
    if (launch.attempt == 0 && r.show) r.show(directory);
  };
  if (p.standing.finished && is_measured(p)) {
    if (!launch.leads()) return 0;
    show_once(r.directory);
    tell_nothing_to_do(p);
    if (nodes != nullptr) nodes->end(0, "");
    return 0;
  }
  return train({.standing = p.standing,
                .plan = p.plan,
                .library = *p.library,
                .data = p.data,
                .open =
                    [&](Standing& s) {
                      tell_what_goes(r, s);
                      go_back(s, p.data.files());
                      s.tell_changes(p.plan);
                    },
                .experiment_folder = paths::working_folder(),
                .begun = show_once,
                .until_step = r.until_step},
               nodes);
}

}  // namespace ddp::runs
