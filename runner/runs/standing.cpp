#include "runs/standing.h"

#include <algorithm>

#include "base/glob.h"
#include "base/log.h"
#include "base/own_command.h"
#include "config/check/files.h"
#include "config/difference.h"
#include "config/length.h"
#include "config/text/source.h"
#include "launch/library/plugin.h"
#include "launch/plan/plan.h"
#include "launch/start/probe.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/graphs.h"
#include "record/summary.h"
#include "report/read/summary_view.h"
#include "runs/changes.h"
#include "runs/train.h"
#include "schedule/change.h"

namespace ddp::runs {
namespace fs = std::filesystem;

fs::path choose_checkpoint(const record::RunDirectory& directory, const std::string& from) {
  if (from == "latest") return record::newest_whole(directory.checkpoints());
  auto candidates = record::complete_checkpoints(directory.checkpoints());
  std::string steps;
  for (const auto& folder : candidates) {
    steps = std::to_string(record::step_of(folder)) + (steps.empty() ? "" : ", ") + steps;
  }
  if (from == "best") {
    candidates = record::by_metric(candidates);
    if (candidates.empty())
      throw usage_error("no checkpoint has a metric yet", "--from best", "use --from latest, or a step");
  } else {
    std::erase_if(candidates, [&](const fs::path& folder) { return std::to_string(record::step_of(folder)) != from; });
    if (candidates.empty()) {
      throw usage_error("no complete checkpoint of step " + from, "--from",
                        "give latest, best, or one of these steps: " + (steps.empty() ? "(none)" : steps));
    }
  }
  record::require_whole(candidates.front());
  return candidates.front();
}

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
  const std::int64_t left =
      at.inside_epoch() ? batches(std::max<std::int64_t>(0, samples - now.offset)) - now.position : 0;
  return config::length_of(e, batches(samples), {.epoch = at.epoch, .step = at.step, .left = left});
}

// Describes the effect of the changes on lr. A run that starts over has a new schedule from its first step.
std::string lr_change_of(const ResumePoint& point) {
  const config::Experiment& before = point.before;
  if (point.changes.empty() || !point.begun() || !before.batch_size || point.nothing_to_do()) return "";
  const launch::Plan& plan = point.prepared.plan;
  const std::int64_t samples = point.prepared.probe.train_samples;
  const record::Position& at = point.position;
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

// Does a path, which may be a pattern, name an existing file or folder?
bool is_there(const std::string& path) {
  const std::vector<std::string> matches = matching_paths(path);
  std::error_code unreadable;
  return !matches.empty() && fs::exists(matches.front(), unreadable);
}

// Data may have moved since the training: returns the settings of the paths that the run's config.toml has now.
std::vector<std::string> moved_files(const config::Experiment& trained, const config::Experiment& now) {
  const config::Value changes = changes_of(trained, now);
  std::vector<std::string> sets;
  for (const config::NamedFile& file : config::named_files(trained)) {
    const auto change = changes.find(file.key);
    if (change == changes.end() || change->at(1).is_null() || is_there(file.path)) continue;
    sets.push_back(file.key + "=" + change->at(1).dump());
  }
  return sets;
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

}  // namespace

config::Loaded trained_settings(const record::RunDirectory& run, const fs::path& checkpoint,
                                const std::vector<std::string>& sets) {
  const fs::path settings = record::settings_file(run, checkpoint);
  config::Loaded trained = launch::load_experiment(settings, sets);
  const auto use_graphs = [&] {
    const auto is_set = [&](const std::string& key) { return trained.where(key).starts_with("--set"); };
    record::use_graphs_of(run, trained.experiment, is_set);
  };
  use_graphs();
  const auto files = config::named_files(trained.experiment);
  if (std::all_of(files.begin(), files.end(), [](const auto& file) { return is_there(file.path); })) return trained;
  std::vector<std::string> moved =
      moved_files(trained.experiment, launch::load_experiment(run.config(), sets).experiment);
  if (moved.empty()) return trained;
  moved.insert(moved.begin(), sets.begin(), sets.end());
  trained = launch::load_experiment(settings, moved);
  use_graphs();
  return trained;
}

config::Experiment experiment_before(const fs::path& file, const config::Experiment& now) {
  try {
    return config::load(file, {}, now.components()).experiment;
  } catch (const Error&) {
    return launch::load_experiment(file).experiment;
  }
}

void tell_what_goes(const Resumption& r, const ResumePoint& point) {
  if (r.from == "latest") return;
  const std::int64_t step = point.position.step;
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

namespace {

// Throws ddp::Error (usage) if the files of the data have changed and are not accepted. A run that has ended trains no
// further: its data do not matter.
void check_data(const Resumption& r, const ResumePoint& point) {
  const config::Experiment& e = point.prepared.loaded.experiment;
  if (r.data_changed || has_ended(e, point.position)) return;
  record::require_same_data(point.checkpoint, record::data_files(e), set_data_keys(point.before, e));
}

// Chooses the checkpoint, and reads the settings before and now.
ResumePoint choose(const Resumption& r, const launch::Launch& launch) {
  const fs::path checkpoint = choose_checkpoint(r.directory, r.from);
  ResumePoint point{.prepared = {.loaded = {}}, .checkpoint = checkpoint, .position = {}};
  config::Loaded& loaded = point.prepared.loaded;
  loaded = r.forks ? trained_settings(r.directory, point.checkpoint, r.sets)
                   : launch::load_experiment(r.directory.config(), r.sets);
  if (point.begun() && !r.forks) record::use_graphs_of(r.directory, loaded.experiment);
  // A run without a checkpoint starts over with the weights that it began with, if it has kept them.
  if (!point.begun()) record::use_first_graphs_of(r.directory, loaded.experiment);
  if (launch.leads()) launch::tell_changed_sources(loaded.experiment, r.directory);
  // Loaded with the new components if they suffice: --set may replace sources because the run's copy no longer
  // compiles.
  point.before = experiment_before(record::settings_file(r.directory, point.checkpoint), loaded.experiment);
  if (const auto origin = record::origin_of(r.directory); origin && !point.begun()) {
    throw usage_error(
        "the checkpoint from which this fork started is missing", r.directory.checkpoints().string(),
        "fork again: " + own_command("fork " + shell_word(origin->run) + " --from " + std::to_string(origin->step)));
  }
  if (r.from == "latest") check_saves(r.directory, point.checkpoint, launch.leads());
  if (!point.begun() && launch.leads()) launch::find_weights(loaded, r.results);
  if (point.begun()) point.position = record::position_of(point.checkpoint);
  return point;
}

void prepare_chosen(ResumePoint& point, const Resumption& r, const launch::Launch& launch) {
  config::Loaded loaded = point.prepared.loaded;
  const bool other_rows =
      point.begun() && loaded.experiment.draws_sets() && record::has_other_data(point.checkpoint, loaded.experiment);
  const std::optional<config::Rows> rows = other_rows ? record::rows_of_checkpoint(point.checkpoint) : std::nullopt;
  std::vector<std::int64_t>& known = loaded.experiment.validation.known_rows;
  const std::vector<std::int64_t> known_before = known;
  if (rows && (known.empty() || known.back() < rows->count)) known.push_back(rows->count);
  std::optional<std::int64_t> global_batch_size;
  if (point.begun() && !sets_batch_size(r.sets) &&
      !edits_batch_size(r.directory, point.before, loaded.experiment, point.position)) {
    global_batch_size = point.position.global_batch_size;
  }
  try {
    point.prepared = prepare(loaded, launch, point.checkpoint, global_batch_size,
                             {.preprocessing = kept_fit(launch, point.checkpoint, point.before, loaded.experiment)});
  } catch (const Error& error) {
    throw point.begun() ? with_cause(error, point.checkpoint, point.before, loaded) : error;
  }
  if (!other_rows) return;
  const config::Rows& now = point.prepared.probe.rows;
  record::require_known_rows(point.checkpoint, now, /*may_grow=*/true);
  // Without new rows there is no new part.
  if (now.count != rows->count) return;
  for (config::Experiment* e : {&point.prepared.loaded.experiment, &point.prepared.plan.experiment}) {
    e->validation.known_rows = known_before;
  }
}

}  // namespace

ResumePoint find_resume_point(const Resumption& r, const launch::Launch& launch) {
  ResumePoint point = choose(r, launch);
  if (point.begun()) {
    require_allowed_changes(point.before, point.prepared.loaded);
    if (launch.leads()) check_data(r, point);
  }
  prepare_chosen(point, r, launch);
  const auto then = point.begun() ? record::files_of_checkpoint(point.checkpoint) : std::vector<record::DataFile>();
  if (point.position.inside_epoch()) require_same_order(point.prepared, point.before, point.position, point.checkpoint);
  const config::Experiment& now = point.prepared.plan.experiment;
  point.changes = changes_of(point.before, now);
  point.warnings = {lr_change_of(point)};
  if (point.begun()) {
    point.warnings.push_back(held_out_after_training(point.before, now));
    point.warnings.push_back(best_change(point.before, now, then, point.prepared.data.files()));
  }
  std::erase(point.warnings, "");
  return point;
}

bool ResumePoint::nothing_to_do() const { return has_ended(prepared.plan.experiment, position); }

std::string ResumePoint::ended_by_rule() const {
  if (!nothing_to_do() || has_done_all_steps(prepared.plan.experiment, position)) return "";
  return position.ended_by == record::kAllSteps ? record::kPatience : position.ended_by;
}

std::string ResumePoint::weaker_rule() const { return "--set stop." + ended_by_rule() + "=…"; }

std::string ResumePoint::longer_run() const {
  const bool by_steps = prepared.plan.experiment.steps.has_value();
  const std::int64_t done = by_steps ? position.step : position.epoch;
  return std::string("--set ") + (by_steps ? "steps" : "epochs") + "=" + std::to_string(done + 1) + ", or more";
}

void ResumePoint::tell_changes() const {
  const launch::Plan& plan = prepared.plan;
  if (!checkpoint.empty() && position.world_size != plan.logical_ranks()) {
    const std::int64_t batch = *plan.experiment.batch_size;
    const std::int64_t samples = batch * plan.logical_ranks() * plan.experiment.accumulate;
    log::info("changed: ranks were " + std::to_string(position.world_size) + ", now " +
              std::to_string(plan.logical_ranks()) +
              (samples == position.global_batch_size
                   ? "; batch_size " + std::to_string(batch) + " keeps " + std::to_string(samples) + " samples a step"
                   : ""));
  }
  for (const auto& [key, values] : changes.items()) {
    log::info("changed: " + config::change_in_words(key, values));
  }
  for (const std::string& warning : warnings) log::warn(warning);
}

std::string ResumePoint::changes_as_text() const {
  return changes.dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

}  // namespace ddp::runs
