#include "runs/trained.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/own_command.h"
#include "base/url.h"
#include "config/load/files.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"
#include "launch/start/probe.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "report/read/summary_view.h"
#include "report/text/words.h"
#include "runs/changes.h"
#include "runs/standing.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// The options of a table that its preprocessing contains.
constexpr std::array kFitted = {"target",
                                "features",
                                "drop",
                                "categories",
                                "classes",
                                "dates",
                                "encode",
                                "missing",
                                "missing_categories",
                                "missing_indicator",
                                "missing_values",
                                "normalise",
                                "normalise_targets",
                                "target_transform"};

// The key of an assignment: "dataset.path" of "dataset.path = …".
std::string key_of(const std::string& set) {
  const std::size_t begin = set.starts_with('~') ? 1 : 0;  // of --unset
  return set.substr(begin, set.find_first_of("= ") - begin);
}

}  // namespace

record::RunDirectory find_run(const TrainedOptions& o) {
  record::RunDirectory directory = record::RunDirectory::find(o.results, o.run);
  directory.require_run();
  return directory;
}

namespace {

// Replaces a URL by a copy, and a sweep by its best trial.
void choose_trial(TrainedOptions& o) {
  if (is_url(o.run)) {
    o.fetched = std::make_shared<const FetchedCopy>(o.run, FetchedCopy::What::run);
    o.run = o.fetched->path().string();
  }
  const record::RunDirectory directory = record::RunDirectory::find(o.results, o.run);
  if (!directory.is_sweep()) return;
  const report::SweepView sweep = report::read_sweep(directory.path());
  if (sweep.kind != "sweep") return;
  if (sweep.best() == nullptr) throw usage_error("no trial of this sweep has a result", directory.path().string());
  o.run = sweep.best()->folder.string();
  log::info("the best trial of the sweep: " + o.run);
}

}  // namespace

record::RunDirectory choose_run(TrainedOptions& o) {
  choose_trial(o);
  const record::RunDirectory directory = record::RunDirectory::find(o.results, o.run);
  if (!directory.is_sweep()) return find_run(o);
  const report::SweepView several = report::read_sweep(directory.path());
  throw usage_error(
      "has several models: it is a " + std::string(several.is_cv() ? "cross-validation" : "race"),
      directory.path().string(),
      several.ranking.empty() ? "" : "name one of its runs: " + path_word(several.ranking.front().folder));
}

std::optional<record::CrossValidation> cross_validation(TrainedOptions& o) {
  choose_trial(o);
  const record::RunDirectory directory = record::RunDirectory::find(o.results, o.run);
  if (!directory.is_sweep()) return {};
  const report::SweepView sweep = report::read_sweep(directory.path());
  if (sweep.is_cv() && !sweep.result) {
    throw usage_error("this cross-validation has no result yet: it is " + sweep.status, directory.path().string(),
                      "let all of its runs end: " + own_command("resume " + path_word(directory.path())));
  }
  return sweep.result;
}

namespace {

fs::path checkpoint_of(const record::RunDirectory& directory, const config::Experiment& e, const std::string& from) {
  fs::path checkpoint = from.empty() && e.validation.exists()
                            ? record::best_whole(directory.checkpoints(), e.best_metric())
                            : choose_checkpoint(directory, from.empty() ? "latest" : from);
  if (!checkpoint.empty()) return checkpoint;
  if (const auto lost = all_saves_lost(directory)) throw *lost;
  throw usage_error("has no complete checkpoint yet", directory.path().string(),
                    directory.is_locked() ? "wait for its first save"
                                          : "`" + own_command("show " + path_word(directory.path())) + "` tells why");
}

}  // namespace

Standing choose_trained(const record::RunDirectory& directory, const TrainedOptions& o) {
  const config::Loaded newest = launch::load_experiment(record::newest_settings(directory), o.sets);
  const fs::path folder = checkpoint_of(directory, newest.experiment, o.from);
  return {.directory = directory, .checkpoint = folder, .loaded = trained_settings(directory, folder, o.sets)};
}

namespace {

// Refuses --set of keys that would silently change nothing, or that do not fit the trained weights.
void refuse_unusable(const TrainedOptions& o) {
  for (const std::string& set : o.sets) {
    const std::string key = key_of(set);
    const std::string first = key.substr(0, key.find('.'));
    const auto accepts = [&](const std::string& usable) { return usable == key || usable == first; };
    if (std::any_of(o.usable.begin(), o.usable.end(), accepts)) continue;
    throw usage_error("cannot change a trained model, or changes nothing here", "--set " + without_queries(set),
                      "leave it out; this command takes these keys: " + report::joined(o.usable));
  }
}

// Refuses a file of the model or of --set that does not exist. Other files of the training may be gone.
void refuse_missing_files(const config::Loaded& loaded) {
  for (const config::NamedFile& file : config::named_files(loaded.experiment)) {
    if (!file.key.starts_with("model.") && !loaded.where(file.key).starts_with("--set")) continue;
    if (const auto missing = config::missing_file(loaded, file.path)) throw *missing;
  }
}

// The checkpoint has fixed a table's columns and preprocessing.
void refuse_fitted(const TrainedOptions& o, const config::Value& preprocessing) {
  if (!preprocessing.is_object() || preprocessing.value("kind", "") != "table") return;
  // A dataset of another name needs columns, and the training has fixed which.
  const bool renamed =
      std::any_of(o.sets.begin(), o.sets.end(), [](const auto& set) { return key_of(set) == "dataset.name"; });
  for (const std::string& set : o.sets) {
    const std::string key = key_of(set);
    if (renamed || !key.starts_with("dataset.")) continue;
    const std::string option = key.substr(std::string("dataset.").size());
    if (std::find(kFitted.begin(), kFitted.end(), option) == kFitted.end()) continue;
    throw usage_error("changes nothing: the model keeps the columns and the preprocessing of its training",
                      "--set " + without_queries(set), "leave it out, or train again with it");
  }
}

}  // namespace

std::int64_t Trained::step() const { return record::step_of(checkpoint); }

Trained open_trained(const TrainedOptions& o, bool tables) {
  Trained t{.directory = find_run(o), .loaded = {}, .plan = {}, .checkpoint = {}, .preprocessing = {}, .library = {}};
  Standing chosen = choose_trained(t.directory, o);
  t.checkpoint = chosen.checkpoint;
  t.loaded = std::move(chosen.loaded);
  refuse_unusable(o);
  refuse_missing_files(t.loaded);
  t.preprocessing = record::fitted_to_data(t.checkpoint);
  refuse_fitted(o, t.preprocessing);
  // Logical ranks divide the work of training; any number of ranks measures and predicts.
  t.loaded.experiment.logical_ranks.reset();
  t.plan = launch::make_plan(t.loaded, launch::visible_gpus());
  if (tables) t.plan.libraries.insert("tables");
  launch::obtain(t.plan.libraries);
  t.library = std::make_unique<launch::RankLibrary>(t.plan.uses_gpus(), t.plan.experiment.components().plugin());
  return t;
}

void list_checkpoint(config::Fields& f, const std::string& run, const std::string& checkpoint, std::int64_t step) {
  f({"run", "folder of the run"}, run);
  f({"checkpoint", "name of the used checkpoint's folder"}, checkpoint);
  f({"step", "optimizer steps done"}, step);
}

namespace {

constexpr int kMostAttempts = 10;

// Returns the name of the checkpoint that the error names, if it is no longer in the folder; else "".
std::string removed_checkpoint(const Error& error, const fs::path& checkpoints) {
  const std::string text = error.what();
  const std::size_t slash = text.find("/step-");
  if (slash == std::string::npos) return "";
  const std::size_t digits = slash + std::string("/step-").size();
  std::string name = text.substr(slash + 1, text.find_first_not_of("0123456789", digits) - slash - 1);
  std::error_code unreadable;
  return fs::exists(checkpoints / name, unreadable) ? "" : name;
}

}  // namespace

void while_saving(const record::RunDirectory& run, const std::function<void()>& use) {
  for (int attempt = 1;; ++attempt) {
    try {
      return use();
    } catch (const Error& error) {
      const std::string removed = removed_checkpoint(error, run.checkpoints());
      if (removed.empty()) throw;
      if (attempt == kMostAttempts) {
        throw usage_error("the run replaced " + removed + " meanwhile", run.path().string(),
                          "try again, or once the run has ended");
      }
      log::info("the run replaced " + removed + " meanwhile: taking the checkpoint after it");
    }
  }
}

}  // namespace ddp::runs
