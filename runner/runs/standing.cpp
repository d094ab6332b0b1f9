#include "runs/standing.h"

#include <algorithm>

#include "base/glob.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/url.h"
#include "config/difference.h"
#include "config/load/files.h"
#include "launch/library/plugin.h"
#include "record/run_names.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/graphs.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "runs/changes.h"
#include "runs/mirror.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// Does a path, which may be a pattern, name an existing file or folder? A URL is looked at when it is read.
bool is_there(const std::string& path) {
  if (is_url(path)) return true;
  const std::vector<std::string> matches = matching_paths(path);
  std::error_code unreadable;
  return !matches.empty() && fs::exists(matches.front(), unreadable);
}

// Data may have moved since the training: returns the settings of the paths that the run's config.toml has now.
std::vector<std::string> moved_files(const config::Experiment& trained, const config::Experiment& now) {
  const config::Value changes = config::differences(config::write(trained), config::write(now));
  std::vector<std::string> sets;
  for (const config::NamedFile& file : config::named_files(trained)) {
    const auto change = changes.find(file.key);
    if (change == changes.end() || change->at(1).is_null()) continue;
    // A URL may have a new signature.
    const bool is_renewed = config::without_queries(change->at(0)) == config::without_queries(change->at(1));
    if (is_there(file.path) && !is_renewed) continue;
    sets.push_back(file.key + "=" + change->at(1).dump());
  }
  return sets;
}

// Returns the newest run under results/<name> that an earlier attempt of this launch began.
std::optional<record::RunDirectory> find_launched(const fs::path& runs, const std::string& launch_id) {
  std::optional<record::RunDirectory> found;
  fs::file_time_type youngest;
  std::error_code ignored;
  for (fs::directory_iterator entry(runs, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    std::error_code error;
    const record::RunDirectory run(entry->path());
    if (entry->is_symlink(error) || record::is_copied_link(entry->path()) || !run.begun()) continue;
    if (record::last_summary(run).value("launch", config::Value()) != launch_id) continue;
    const auto begun = fs::last_write_time(run.config(), error);
    if (error || (found && begun <= youngest)) continue;
    found = run;
    youngest = begun;
  }
  return found;
}

}  // namespace

std::string Standing::ended_by_rule() const {
  if (!finished || has_done_all_steps(loaded.experiment, position)) return "";
  return position.ended_by == record::kAllSteps ? record::kPatience : position.ended_by;
}

std::string Standing::weaker_rule() const { return "--set stop." + ended_by_rule() + "=…"; }

std::string Standing::longer_run() const {
  const bool by_steps = loaded.experiment.steps.has_value();
  const std::int64_t done = by_steps ? position.step : position.epoch;
  return std::string("--set ") + (by_steps ? "steps" : "epochs") + "=" + std::to_string(done + 1) + ", or more";
}

void Standing::tell_changes(const launch::Plan& plan) const {
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

std::string Standing::changes_as_text() const {
  return changes.is_null() ? "" : changes.dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

void Standing::tell(rank::Task& task, rank::TrainRequest& request) const {
  task.run_directory = directory.path();
  task.resume_from = checkpoint;
  task.init_from = has_checkpoint() ? fs::path() : weights;
  request.resumed = continues;
  request.changes = changes_as_text();
}

void create(Standing& s, const fs::path& results, const std::string& name, const std::string& run_id,
            const record::TagChange& tags) {
  if (!run_id.empty()) require_new_copy(s.loaded.experiment, fs::path(name) / run_id);
  s.directory = record::RunDirectory::create(results, name, run_id);
  s.lock = s.directory.lock();
  if (s.directory.begun()) throw usage_error("another process has begun this run", s.directory.path().string());
  try {
    if (!tags.empty()) record::change_tags(s.directory, tags);
  } catch (const Error&) {
    s.directory.discard();
    throw;
  }
}

void go_back(const Standing& s, const std::vector<record::DataFile>& files) {
  if (!s.changes.empty()) {
    record::keep_settings(s.directory, experiment_before(s.directory.config(), s.loaded.experiment));
  }
  if (s.has_checkpoint()) record::accept_data(s.checkpoint, files);
  record::rewind(s.directory, s.checkpoint, s.position, s.finished);
}

bool has_ended(const config::Experiment& e, const record::Position& position) {
  if (position.validation_due) return false;
  if (record::still_ended(e, position.ended_by, position.stop, position.seconds)) return true;
  return has_done_all_steps(e, position);
}

bool has_done_all_steps(const config::Experiment& e, const record::Position& position) {
  return e.steps ? position.step >= *e.steps : position.epoch >= e.epochs.value_or(1);
}

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
  const auto stays = [](const auto& file) { return is_there(file.path) && !is_signed(file.path); };
  if (std::all_of(files.begin(), files.end(), stays)) return trained;
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

std::optional<record::RunDirectory> begun_run(const fs::path& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch) {
  if (!run_id.empty()) {
    record::RunDirectory own(results / name / run_id);
    return own.begun() ? std::optional(own) : std::nullopt;
  }
  if (launch.attempt == 0 || launch.id.empty()) return {};
  return find_launched(results / name, launch.id);
}

}  // namespace ddp::runs
