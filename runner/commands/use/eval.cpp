#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "commands/options.h"
#include "config/text/source.h"
#include "rank/verbs.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "report/text/run_page.h"
#include "report/text/words.h"
#include "runs/asking.h"
#include "runs/changes.h"
#include "runs/standing.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct EvalOutput {
  std::string run, checkpoint;
  std::int64_t step = 0;
  config::Value metrics = config::Value::object();

  void fields(config::Fields& f) {
    f.version();
    runs::list_checkpoint(f, run, checkpoint, step);
    const config::Value rows = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
    f({"metrics", "val_…: validation data; test_…: test data; without a prefix: data of --set"}, metrics,
      {{"type", "object"},
       {"patternProperties", {{"^((val|test)_)?confusion$", {{"type", "array"}, {"items", rows}}}}},
       {"additionalProperties", {{"type", {"number", "null"}}}}});
  }
};

struct EvalOptions {
  runs::TrainedOptions trained;
  bool json = false;
};

bool sets_dataset(const std::vector<std::string>& sets) {
  return std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return set.starts_with("dataset") && !runs::keeps_samples(set.substr(0, set.find_first_of("= ")));
  });
}

config::Value measure_trained(const runs::Trained& t, bool whole, bool raw) {
  const bool has_sets = t.plan.experiment.validation.exists() || t.plan.experiment.test.exists();
  if (!whole && !has_sets) {
    throw usage_error("held out no data to measure on", t.directory.path().string(),
                      "give data with --set dataset.path=FILE, or as arrays: dataset.inputs and dataset.targets");
  }
  const auto data = launch::HeldData::in_memory(*t.library, t.plan, {.preprocessing = t.preprocessing, .whole = whole});
  if (!whole && t.plan.experiment.draws_sets() && record::has_other_data(t.checkpoint, t.plan.experiment)) {
    record::require_known_rows(t.checkpoint, launch::rows_of_data(*t.library, t.plan, data), /*may_grow=*/false);
  }
  for (const auto& warning : data.facts().value("warnings", std::vector<std::string>())) log::warn(warning);
  const rank::Task task{
      .run_directory = t.directory.path(), .resume_from = t.checkpoint, .preprocessing = t.preprocessing};
  const runs::AskedRanks ranks(t.plan, *t.library, data, task);
  rank::Measurement measured;
  ranks.ask(rank::EvaluateRequest{.whole = whole, .raw = raw}, [&](const auto& reply) { measured = reply; });
  for (const std::string& warning : measured.warnings) log::warn(warning);
  return measured.values;
}

// Warns if the settings measure samples on which the run has trained.
void warn_of_trained_samples(const runs::Trained& t, const std::vector<std::string>& sets, bool whole) {
  if (sets.empty()) return;
  const config::Experiment before =
      runs::experiment_before(record::settings_file(t.directory, t.checkpoint), t.loaded.experiment);
  const config::Experiment& now = t.loaded.experiment;
  if (whole && runs::same_data(before, now)) {
    return log::warn(
        "these are the data of the run: the model has trained on them, so values are better than on new "
        "data");
  }
  const std::string warning = whole ? "" : runs::held_out_after_training(before, now);
  if (!warning.empty()) log::warn(warning);
}

constexpr std::size_t kShownClasses = 10;  // with more classes a matrix is wider than a terminal

void print_matrix(const std::string& name, const config::Value& rows, const std::vector<std::string>& classes) {
  if (rows.size() > kShownClasses) {
    log::info(name + " has " + std::to_string(rows.size()) + " classes, too many to print: --json gives the matrix");
    return;
  }
  std::cout << name << "\n" << report::in_lines(rows.get<std::vector<std::vector<std::int64_t>>>(), classes) << "\n";
}

void print(const config::Value& values, const config::Value& preprocessing) {
  const std::vector<std::string> classes = preprocessing.is_object()
                                               ? preprocessing.value("classes", std::vector<std::string>())
                                               : std::vector<std::string>();
  for (const auto& [name, value] : values.items()) {
    if (value.is_array()) {
      print_matrix(name, value, classes);
      continue;
    }
    char number[32] = "nan";  // JSON has no NaN
    if (value.is_number()) std::snprintf(number, sizeof number, "%.6g", value.get<double>());
    std::cout << name << " " << number << "\n";
  }
}

void eval(const EvalOptions& o) {
  const runs::Trained t = runs::open_trained(o.trained);
  const record::Position position = record::position_of(t.checkpoint);
  const std::string epoch =
      (position.inside_epoch() ? "in epoch " : "after epoch ") + std::to_string(position.epoch_of_step());
  log::info("the checkpoint of step " + std::to_string(position.step) + ", " + epoch + ": " +
            config::printable(t.checkpoint.string()));
  const bool whole = sets_dataset(o.trained.sets);
  warn_of_trained_samples(t, o.trained.sets, whole);
  const config::Value values = measure_trained(t, whole, o.trained.raw);
  if (o.json) {
    return report::print_json(config::written(EvalOutput{.run = t.directory.path().string(),
                                                         .checkpoint = t.checkpoint.filename().string(),
                                                         .step = t.step(),
                                                         .metrics = values}),
                              std::cout);
  }
  print(values, t.preprocessing);
}

// The mean and spread over the runs of a cross-validation. On other data than theirs each run is measured.
void eval_all(EvalOptions o, const record::CrossValidation& trained) {
  const record::RunDirectory folder = record::RunDirectory::find(o.trained.results, o.trained.run);
  record::CrossValidation cv = trained;
  const bool whole = sets_dataset(o.trained.sets);
  for (std::size_t i = 0; i < cv.runs.size(); ++i) {
    o.trained.run = folder.trial(static_cast<int>(i)).path().string();
    const runs::Trained t = runs::open_trained(o.trained);
    if (i == 0) warn_of_trained_samples(t, o.trained.sets, whole);
    cv.runs[i].metrics = measure_trained(t, whole, o.trained.raw);
  }
  cv.summarise();
  if (o.json) return report::print_json(config::written(cv), std::cout);
  report::print_figures(cv, std::cout, report::terminal_of_stdout());
}

void eval_run_or_all(EvalOptions& o) {
  if (const auto cv = runs::cross_validation(o.trained)) return eval_all(o, *cv);
  runs::while_saving(runs::choose_run(o.trained), [&] { eval(o); });
}

void add_eval(CLI::App& verb, EvalOptions& o) {
  add_trained(verb, o.trained, {"loss", "metrics", "validation", "test"});
  verb.add_flag("--json", o.json, "print JSON");
}

const bool eval_registered =
    register_verb(45, "eval", "measure a trained model on its validation and test data, or on other data", add_eval,
                  eval_run_or_all,
                  {.examples = {"eval people", "eval people --from best --set dataset.path=other.csv"},
                   .aliases = {"test", "evaluate", "score"}}) &&
    register_schema<EvalOutput>("eval", "eval RUN --json");

}  // namespace
}  // namespace ddp::commands
