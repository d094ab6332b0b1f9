#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/student.h"
#include "commands/options.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "launch/start/objects.h"
#include "rank/verbs.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "report/text/run_page.h"
#include "report/text/table.h"
#include "report/text/words.h"
#include "runs/asking.h"
#include "runs/changes.h"
#include "runs/prepare.h"
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

rank::Measurement measure_trained(runs::Trained& t, const rank::EvaluateRequest& request) {
  runs::with_lines(t.loaded, [&] { launch::ObjectShelf().fetch(t.plan.experiment); });
  t.loaded.experiment.dataset.objects = t.plan.experiment.dataset.objects;  // for messages
  const bool whole = request.whole;
  const bool has_sets = t.plan.experiment.validation.exists() || t.plan.experiment.test.exists();
  if (!whole && !has_sets) {
    throw usage_error("held out no data to measure on", t.directory.path().string(),
                      "give data with --set dataset.path=FILE, or as arrays: dataset.inputs and dataset.targets");
  }
  const auto data = runs::with_lines(t.loaded, [&] {
    return launch::HeldData::in_memory(*t.library, t.plan, {.preprocessing = t.preprocessing, .whole = whole});
  });
  if (!whole && t.plan.experiment.draws_sets() && record::has_other_data(t.checkpoint, t.plan.experiment)) {
    record::require_known_rows(t.checkpoint, launch::rows_of_data(*t.library, t.plan, data), /*may_grow=*/false);
  }
  for (const auto& warning : data.facts().value("warnings", std::vector<std::string>())) log::warn(warning);
  const rank::Task task{
      .run_directory = t.directory.path(), .resume_from = t.checkpoint, .preprocessing = t.preprocessing};
  const runs::AskedRanks ranks(t.plan, *t.library, data, task);
  rank::Measurement measured;
  ranks.ask(request, [&](const auto& reply) { measured = reply; });
  for (const std::string& warning : measured.warnings) log::warn(warning);
  return measured;
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

void tell_checkpoint(const runs::Trained& t) {
  const record::Position position = record::position_of(t.checkpoint);
  const std::string epoch =
      (position.inside_epoch() ? "in epoch " : "after epoch ") + std::to_string(position.epoch_of_step());
  log::info("the checkpoint of step " + std::to_string(position.step) + ", " + epoch + ": " +
            config::printable(t.checkpoint.string()));
}

void eval(const EvalOptions& o) {
  runs::Trained t = runs::open_trained(o.trained);
  tell_checkpoint(t);
  const bool whole = sets_dataset(o.trained.sets);
  warn_of_trained_samples(t, o.trained.sets, whole);
  const config::Value values = measure_trained(t, {.whole = whole, .raw = o.trained.raw}).values;
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
    runs::Trained t = runs::open_trained(o.trained);
    if (i == 0) warn_of_trained_samples(t, o.trained.sets, whole);
    cv.runs[i].metrics = measure_trained(t, {.whole = whole, .raw = o.trained.raw}).values;
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

struct ImportanceOutput {
  struct Column {
    std::string column;
    double mean = 0, std = 0;
    std::vector<double> values;

    void fields(config::Fields& f) {
      f({"column", "of the table"}, column);
      f({"mean", "how much worse the metric is without the order of the column's cells"}, mean);
      f({"std", "over the repeats, n in the divisor"}, std);
      f({"values", "of each repeat"}, values);
    }
  };
  std::string run, checkpoint, metric;
  std::int64_t step = 0;
  double value = 0;
  std::vector<Column> columns;

  void fields(config::Fields& f) {
    f.version();
    runs::list_checkpoint(f, run, checkpoint, step);
    f({"metric", "val_…: on validation data; test_…: on test data; without a prefix: on data of --set"}, metric);
    f({"value", "of the metric, with all columns"}, value);
    f({"columns", "the most important one first"}, columns);
  }
};

struct ImportanceOptions {
  runs::TrainedOptions trained;
  std::int64_t repeats = 5;
  bool json = false;
};

// Adds the importances to evaluation.json, for the report, if it is of the same checkpoint.
void keep_importance(const runs::Trained& t, const config::Value& importance) {
  const fs::path file = t.directory.evaluation();
  std::error_code none;
  if (!fs::exists(file, none)) return;
  try {
    config::Value found = config::parse_value(record::read_text(file));
    if (found.value("step", std::int64_t{-1}) != t.step()) return;
    found["importance"] = importance;
    record::write_atomically(file, found.dump(-1, ' ', false, config::Value::error_handler_t::replace) + "\n");
  } catch (const Error& error) {
    log::warn("report.html does not get the importances: " + error.summary());
  }
}

void importance(const ImportanceOptions& o) {
  runs::Trained t = runs::open_trained(o.trained);
  const config::Experiment& e = t.plan.experiment;
  if (!t.preprocessing.is_object() || t.preprocessing.value("kind", "") != "table") {
    throw usage_error("was trained on \"" + e.dataset.name + "\"", t.directory.path().string(),
                      "importance shuffles the columns of a table");
  }
  tell_checkpoint(t);
  const bool whole = sets_dataset(o.trained.sets);
  warn_of_trained_samples(t, o.trained.sets, whole);
  const config::Metric metric = e.best_metric();
  const std::string bare = metric.name.substr(metric.name.find('_') + 1);
  const rank::Measurement measured = measure_trained(
      t,
      {.whole = whole, .raw = o.trained.raw, .repeats = o.repeats, .metric = bare, .greater = metric.is_better(1, 0)});
  ImportanceOutput output{.run = t.directory.path().string(),
                          .checkpoint = t.checkpoint.filename().string(),
                          .metric = (whole                   ? ""
                                     : e.validation.exists() ? config::kValidationPrefix
                                                             : config::kTestPrefix) +
                                    bare,
                          .step = t.step(),
                          .columns = {}};
  if (measured.importances.empty()) throw training_error("has no value on these data", output.metric);
  output.value = measured.values.at(output.metric).get<double>();
  for (const auto& [column, values] : measured.importances) {
    const Spread spread = spread_of(values);
    const double n = static_cast<double>(values.size());
    const double deviation = values.size() == 1 ? 0 : spread.deviation * std::sqrt((n - 1) / n);
    output.columns.push_back({.column = column, .mean = spread.mean, .std = deviation, .values = values});
  }
  std::stable_sort(output.columns.begin(), output.columns.end(),
                   [](const auto& a, const auto& b) { return a.mean > b.mean; });
  const config::Value written = config::written(output);
  if (o.trained.sets.empty() && !o.trained.raw) keep_importance(t, written);
  if (o.json) return report::print_json(written, std::cout);
  report::Table table({{.header = "column"}, {.header = "worse by", .right = true}, {.header = "±", .right = true}});
  for (const auto& one : output.columns) {
    table.row({one.column, report::in_words(one.mean), report::in_words(one.std)});
  }
  std::cout << output.metric << " " << report::in_words(output.value)
            << " with all columns; with one of them shuffled:\n";
  table.print(std::cout, report::terminal_of_stdout());
}

void add_importance(CLI::App& verb, ImportanceOptions& o) {
  add_trained(verb, o.trained, {"validation", "test"});
  verb.add_option("--repeats", o.repeats, "how often each column is shuffled (5)")->check(CLI::Range(1, 1000));
  verb.add_flag("--json", o.json, "print JSON");
}

const bool importance_registered =
    register_verb(47, "importance", "measure how much worse a model is with each column of its table shuffled",
                  add_importance,
                  [](ImportanceOptions& o) { runs::while_saving(runs::choose_run(o.trained), [&] { importance(o); }); },
                  {.examples = {"importance people", "importance people --repeats 20 --json"},
                   .aliases = {"importances", "permutation_importance"}}) &&
    register_schema<ImportanceOutput>("importance", "importance RUN --json");

const bool eval_registered =
    register_verb(45, "eval", "measure a trained model on its validation and test data, or on other data", add_eval,
                  eval_run_or_all,
                  {.examples = {"eval people", "eval people --from best --set dataset.path=other.csv"},
                   .aliases = {"test", "evaluate", "score"}}) &&
    register_schema<EvalOutput>("eval", "eval RUN --json");

}  // namespace
}  // namespace ddp::commands
