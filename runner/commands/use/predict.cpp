#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>

#include "base/file_descriptor.h"
#include "base/glob.h"
#include "base/paths.h"
#include "base/url.h"
#include "commands/options.h"
#include "commands/use/unnamed_output.h"
#include "config/check/suggest.h"
#include "launch/start/objects.h"
#include "record/cross_validation.h"
#include "record/run_directory.h"
#include "record/saves/data_files.h"
#include "report/text/words.h"
#include "runs/predicting.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct PredictOptions {
  runs::TrainedOptions trained;
  std::vector<std::string> inputs;
  std::vector<std::string> keep;
  std::string output;
};

std::string form_of(const std::string& output) {
  if (output.empty()) return "csv";
  refuse_folder(output, "predictions.csv");
  const std::string ending = fs::path(output).extension().string();
  for (const std::string form : {"csv", "npy", "parquet"}) {
    if (ending == "." + form) return form;
  }
  throw usage_error("has an unknown ending", output, "use .csv, .npy or .parquet");
}

// The input files, in the form that the run's dataset takes.
struct Inputs {
  std::vector<std::string> files = {};
  std::vector<std::string> shown = {};  // each file as the user gave it
  std::int64_t files_of_row = 1;
  std::vector<std::shared_ptr<const void>> in_use = {};  // of URLs: keep their copies
};

// Adds the copies of the objects of a URL.
void add_objects(const std::string& url, const config::Loader& loader, Inputs& found) {
  const launch::FetchedObjects fetched = launch::fetch_objects({url}, loader, /*streams=*/false);
  for (const config::Object& object : fetched.all) {
    found.files.push_back(object.file);
    found.shown.push_back(without_query(object.url));
  }
  found.in_use.push_back(fetched.in_use);
}

// Replaces a pattern by its files, sorted by name.
Inputs input_files(const std::vector<std::string>& inputs, const config::Loader& loader) {
  Inputs found;
  for (const std::string& input : inputs) {
    if (is_url(input)) {
      add_objects(input, loader, found);
      continue;
    }
    const auto matches = matching_paths(input);
    if (matches.empty()) throw usage_error("no file matches it", input);
    for (const std::string& file : matches) {
      std::error_code none;
      if (!fs::exists(file, none)) {
        throw usage_error("there is no such file", file, config::did_you_mean(config::file_like(file)));
      }
      found.files.push_back(paths::absolute(file).string());
      found.shown.push_back(file);
    }
  }
  return found;
}

bool is_table(const runs::Trained& t) {
  const auto components = t.plan.experiment.components();
  const config::Spec* spec = components.find("dataset", t.plan.experiment.dataset.name);
  return spec != nullptr && spec->traits.value("library", "") == "tables";
}

// An option that is not a path lists one file for each input of the model.
Inputs inputs_for(const runs::Trained& t, const std::vector<std::string>& given) {
  const config::Component& dataset = t.plan.experiment.dataset;
  const auto components = t.plan.experiment.components();
  const config::Spec* spec = components.find("dataset", dataset.name);
  const std::string option = is_table(t) ? "path" : spec == nullptr ? "" : spec->traits.value("predicts_from", "");
  if (option.empty()) {
    throw usage_error("was trained on \"" + dataset.name + "\"", t.directory.path().string(),
                      "predict reads tables, arrays, images and digits; generate and eval use a text");
  }
  const config::Value trained = dataset.options.value(option, config::Value());
  if (option == "path" || !trained.is_array() || trained.size() == 1) {
    return input_files(given, t.plan.experiment.loader);
  }
  if (given.size() != trained.size()) {
    std::vector<std::string> names;
    for (const config::Value& one : trained) names.push_back(fs::path(one.get<std::string>()).filename().string());
    throw usage_error("was trained on " + std::to_string(trained.size()) + " inputs, but " +
                          std::to_string(given.size()) + " files are given",
                      t.directory.path().string(),
                      "give one for each of these, in this order: " + report::joined(names));
  }
  Inputs inputs{.files_of_row = static_cast<std::int64_t>(trained.size())};
  for (const std::string& one : given) {
    Inputs files = input_files({one}, t.plan.experiment.loader);
    if (is_url(one) && files.files.size() != 1) throw usage_error("names more than one object", without_query(one));
    inputs.files.push_back(is_url(one) ? files.files.front() : paths::absolute(one).string());
    inputs.in_use.insert(inputs.in_use.end(), files.in_use.begin(), files.in_use.end());
  }
  return inputs;
}

// Checks the columns to copy, before anything is read.
void require_kept(const PredictOptions& o, const std::string& form, const runs::Trained& t) {
  if (o.keep.empty()) return;
  if (form == "npy") {
    throw usage_error("copies columns, and a .npy file has none", "--keep", "use .csv or .parquet: -o");
  }
  if (!is_table(t)) {
    throw usage_error(
        "copies columns of a table, and the run was trained on \"" + t.plan.experiment.dataset.name + "\"", "--keep");
  }
  const std::set<std::string> distinct(o.keep.begin(), o.keep.end());
  if (distinct.size() < o.keep.size()) throw usage_error("names a column twice", "--keep");
}

// Models of a cross-validation that have predicted.
struct Models {
  std::vector<std::string> files = {};  // their results
  std::vector<config::Value> decisions = {};
};

// Returns what [decide] fitted; null: there is none.
config::Value decision_of(const runs::Trained& t) {
  if (!t.plan.experiment.decide.on()) return nullptr;
  config::Value decision = record::decision_of(t.checkpoint);
  if (!decision.is_null()) return decision;
  throw usage_error("was saved between two validations, and has no [decide]", t.checkpoint.string(),
                    "use another checkpoint: --from best");
}

std::optional<double> mean_threshold(const std::vector<config::Value>& decisions) {
  double sum = 0;
  for (const config::Value& one : decisions) {
    if (one.is_null() || one.at("threshold").is_null()) return {};
    sum += one.at("threshold").get<double>();
  }
  return sum / static_cast<double>(decisions.size());
}

// Writes the results of one model, or their mean with those of other models (rank::PredictRequest). Returns the classes
// of its training. Adds the model's decision to `models`.
config::Value predict_rows(const PredictOptions& o, const std::string& form, int out, Models& models) {
  runs::Trained t = runs::open_trained(o.trained, /*tables=*/form == "parquet");
  models.decisions.push_back(decision_of(t));
  require_kept(o, form, t);
  const Inputs inputs = inputs_for(t, o.inputs);
  const config::Experiment& e = t.plan.experiment;
  const std::int64_t batch_size = e.validation.batch_size.value_or(*e.batch_size);
  t.plan.experiment.parallel = "single";
  const runs::Predicting predicting{
      .plan = t.plan,
      .library = *t.library,
      .task = {.run_directory = t.directory.path(), .resume_from = t.checkpoint, .preprocessing = t.preprocessing},
      .deal = {.inputs = inputs.files,
               .shown = inputs.shown,
               .files_of_row = inputs.files_of_row,
               .keep = o.keep,
               .pipes = {},
               .batch_size = batch_size},
      .predict = {.batch_size = batch_size,
                  .form = form,
                  .raw = o.trained.raw,
                  .other_models = form == "floats" ? std::vector<std::string>() : models.files,
                  .threshold = mean_threshold(models.decisions)},
      .collect = {.pipes = {}, .form = form, .name = o.output.empty() ? "stdout" : o.output}};
  runs::predict(predicting, out);
  return t.preprocessing.is_object() ? t.preprocessing.value("classes", config::Value()) : config::Value();
}

// A file without a name for the results of a model.
struct Results {
  FileDescriptor file;

  Results() : file(open(fs::temp_directory_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    if (!file) file = FileDescriptor(memfd_create("ddp-exp-results", MFD_CLOEXEC));  // such as on NFS
    if (!file) throw training_error("cannot write: " + errno_text(errno), fs::temp_directory_path().string());
  }
  // Children know it by this.
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file.get()); }
};

// The mean of the models of a cross-validation.
void predict_with_all(PredictOptions o, const record::CrossValidation& cv, const std::string& form, int out) {
  const record::RunDirectory folder = record::RunDirectory::find(o.trained.results, o.trained.run);
  std::vector<Results> results(cv.runs.size() - 1);
  Models models;
  config::Value classes;
  for (std::size_t i = 0; i < cv.runs.size(); ++i) {
    o.trained.run = folder.trial(static_cast<int>(i)).path().string();
    const bool is_last = i + 1 == cv.runs.size();
    const config::Value own = predict_rows(o, is_last ? form : "floats", is_last ? out : results[i].file.get(), models);
    if (i == 0) classes = own;
    if (own != classes) {
      throw usage_error("has other classes than run 0: a class is too rare for each fold's training rows",
                        o.trained.run, "train again with dataset.classes, or folds.stratify = true");
    }
    if (!is_last) models.files.push_back(results[i].path());
  }
}

void predict_to(const PredictOptions& o, const std::string& form, const std::optional<record::CrossValidation>& cv) {
  std::optional<UnnamedOutput> output;
  if (!o.output.empty()) output.emplace(o.output);
  const int out = output ? output->descriptor() : STDOUT_FILENO;
  if (cv) {
    predict_with_all(o, *cv, form, out);
  } else {
    Models none;
    predict_rows(o, form, out, none);
  }
  if (output) output->put_in_place();
}

void predict(PredictOptions& o) {
  const std::string form = form_of(o.output);
  std::vector<std::string> local = o.inputs;
  std::erase_if(local, [](const std::string& input) { return is_url(input); });
  refuse_input(o.output, input_files(local, {}).files);
  // A lost checkpoint is noticed before the first row is written (rank/collect).
  if (const auto cv = runs::cross_validation(o.trained)) return predict_to(o, form, cv);
  runs::while_saving(runs::choose_run(o.trained), [&] { predict_to(o, form, {}); });
}

void add_predict(CLI::App& verb, PredictOptions& o) {
  add_trained(verb, o.trained, {"validation", "loader"});
  completes(
      verb.add_option("INPUT", o.inputs, "files or URLs of samples like the training data: rows, images or arrays")
          ->required(),
      completion::files({".csv", ".tsv", ".gz", ".parquet", ".feather", ".jsonl"}));
  verb.add_option("--keep", o.keep, "columns of a table to copy in front of the results")
      ->delimiter(',')
      ->type_name("COLUMN,…");
  names_output(verb.add_option("-o,--output", o.output, "a .csv, .parquet or .npy file; default: CSV on stdout"));
}

const bool predict_registered =
    register_verb(46, "predict", "predict the rows of files with a trained model", add_predict, predict,
                  {.examples = {"predict people strangers.csv -o answers.csv"}, .aliases = {"infer", "inference"}});

}  // namespace
}  // namespace ddp::commands
