#include "commands/look/show_plan.h"

#include <algorithm>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "config/components.h"
#include "config/data_description.h"
#include "config/option/fields.h"
#include "config/text/source.h"
#include "report/text/table.h"
#include "report/text/words.h"
#include "sweep/journal.h"
#include "sweep/trials.h"

namespace ddp::commands {

namespace {

using config::ColumnDescription;
using config::DataDescription;
using config::Value;

constexpr std::size_t kLinesListed = 12;
constexpr std::int64_t kValuesInLine = 8;
constexpr std::size_t kLabelWidth = 13;  // including the space behind it, as in the lines of a plan

std::string shown_number(const Value& number) {
  if (number.is_null()) return "none";
  return number.is_number_float() ? report::in_words(number.get<double>()) : number.dump();
}

std::string shown_shape(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + report::joined(extents) + "]";
}

std::string or_empty(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : ""; }

void row(const std::string& label, const std::string& value) {
  std::cout << label << std::string(kLabelWidth - label.size(), ' ') << value << "\n";
}

// Prints a table behind a label, and the number of rows that are left out.
void print_labelled(const std::string& label, const report::Table& table, std::size_t left_out = 0) {
  if (table.empty()) return;
  std::ostringstream lines;
  table.print(lines, report::terminal_of_stdout(), std::string(kLabelWidth, ' '));
  std::cout << label << lines.str().substr(label.size());
  if (left_out > 0) row("", "and " + std::to_string(left_out) + " more");
}

void print_sets(const DataDescription& data) {
  report::Table table({{.header = "set"},
                       {.header = "samples", .right = true},
                       {.header = "share", .right = true},
                       {.header = "groups", .right = true},
                       {.header = "tokens", .right = true}});
  for (const config::SetDescription& set : data.sets) {
    table.row({set.set, set.samples ? std::to_string(*set.samples) : "endless",
               set.share ? report::in_words(100 * *set.share) + " %" : "", or_empty(set.groups), or_empty(set.tokens)});
  }
  print_labelled("data", table);
  if (data.left_out) {
    row("", or_empty(data.left_out) + " of " + or_empty(data.of_dataset.rows) +
                " rows are dropped, because cells are missing");
  }
}

void print_classes(const DataDescription& data) {
  if (!data.classes) return;
  const std::vector<std::string>& names = data.classes->names;
  std::vector<report::Column> columns{{.header = "class"}};
  for (const config::SetDescription& set : data.sets) columns.push_back({.header = set.set, .right = true});
  report::Table table(std::move(columns));
  const std::size_t listed = std::min(names.size(), kLinesListed);
  for (std::size_t i = 0; i < listed; ++i) {
    std::vector<std::string> cells{config::printable(names[i])};
    for (const config::SetDescription& set : data.sets) cells.push_back(std::to_string(set.class_counts->at(i)));
    table.row(std::move(cells));
  }
  print_labelled("classes", table, static_cast<std::size_t>(data.classes->count) - listed);
}

// "3: blue, green, red"
std::string values_of(const ColumnDescription& column) {
  if (!column.values) return "";
  std::vector<std::string> values;
  for (const std::string& value : *column.values) {
    if (std::ssize(values) < kValuesInLine) values.push_back(config::printable(value));
  }
  const bool more = column.value_count > kValuesInLine;
  return or_empty(column.value_count) + ": " + report::joined(values) + (more ? ", …" : "");
}

// The targets come first, then what lacks cells, so that a list that is cut has them.
void print_columns(const DataDescription& data) {
  if (!data.of_dataset.columns) return;
  report::Table table({{.header = "column"},
                       {.header = "role"},
                       {.header = "type"},
                       {.header = "missing", .right = true},
                       {.header = "values"}});
  std::vector<const ColumnDescription*> columns;
  for (const ColumnDescription& column : *data.of_dataset.columns) {
    if (column.role != "weights") columns.push_back(&column);
  }
  std::stable_sort(columns.begin(), columns.end(), [](const ColumnDescription* a, const ColumnDescription* b) {
    const auto order = [](const ColumnDescription& column) {
      return std::pair(column.role != "target", column.missing == 0);
    };
    return order(*a) < order(*b);
  });
  if (columns.size() > kLinesListed) columns.resize(kLinesListed);
  for (const ColumnDescription* column : columns) {
    table.row({config::printable(column->name), column->role, column->type,
               column->missing == 0 ? "" : std::to_string(column->missing), values_of(*column)});
  }
  print_labelled("columns", table, data.of_dataset.columns->size() - columns.size());
}

void print_arrays(const DataDescription& data) {
  if (!data.of_dataset.arrays) return;
  report::Table table({{.header = "array"}, {.header = "role"}, {.header = "stored as"}, {.header = "shape"}});
  for (const config::ArrayDescription& one : *data.of_dataset.arrays) {
    table.row({config::printable(one.name), one.role, one.dtype, shown_shape(one.shape)});
  }
  print_labelled("arrays", table);
}

void print_text(const config::DatasetDescription& data) {
  if (!data.block_size) return;
  std::string text = "samples of " + or_empty(data.block_size) + " tokens";
  if (data.tokenizer) {
    text += ", tokenizer \"" + config::printable(*data.tokenizer) + "\" with " + or_empty(data.vocab_size) + " tokens";
  }
  row("text", text);
}

void print_first_batch(const config::BatchDescription& batch) {
  report::Table table({{.header = "tensor"},
                       {.header = "role"},
                       {.header = "type"},
                       {.header = "shape"},
                       {.header = "least", .right = true},
                       {.header = "greatest", .right = true},
                       {.header = "inf or nan", .right = true}});
  for (const auto& [role, tensors] : {std::pair("input", &batch.inputs), std::pair("target", &batch.targets)}) {
    for (const config::TensorDescription& one : *tensors) {
      table.row({config::printable(one.name), role, one.dtype, shown_shape(one.shape), shown_number(one.least),
                 shown_number(one.greatest), one.not_finite == 0 ? "" : std::to_string(one.not_finite)});
    }
  }
  print_labelled("first batch", table);
}

// Returns the options of the model that can come from the data, whether given or found.
Value sizes_from_data(const config::Experiment& e) {
  Value sizes = Value::object();
  const auto components = e.components();
  const config::Spec* model = components.find("model", e.model.name);
  if (model == nullptr) return sizes;
  for (const config::Option& option : model->options) {
    const auto size = e.model.options.find(option.name);
    if (!option.from_data.empty() && size != e.model.options.end()) sizes[option.name] = *size;
  }
  return sizes;
}

// The replayed steps of a planned run.
struct ReplayForecast {
  std::int64_t calls = 0;
  std::int64_t own_calls = 0;
  std::int64_t bytes = 0;
  std::int64_t most_bytes = 0;
  std::string reason = {};

  void fields(config::Fields& f) {
    f({"calls", "of kernels per micro-batch, without those of DDP; 0: not tried, or not replayed"}, calls);
    f({"own_calls", "of these, of ddp-exp's own kernels"}, own_calls);
    f({"bytes", "that a rank takes to record a step; 0: not tried"}, bytes);
    f({"most_bytes", "that it may take: a quarter of the memory that is free now for a rank, at least 256 MiB"},
      most_bytes);
    f({.name = "reason",
       .doc = "why steps are not replayed; null: they are, or a step takes too long to try",
       .may_be_null = true},
      reason);
  }
};

ReplayForecast forecast_of(const launch::Plan& plan, const rank::Probe& probe) {
  ReplayForecast forecast{.calls = probe.calls,
                          .own_calls = probe.own_calls,
                          .bytes = probe.recorded_bytes,
                          .most_bytes = plan.bytes_to_record(),
                          .reason = probe.not_replayed};
  if (forecast.bytes > forecast.most_bytes) {
    forecast.reason = "its recording takes " + report::bytes_in_words(forecast.bytes) + ", and may take " +
                      report::bytes_in_words(forecast.most_bytes);
  }
  return forecast;
}

std::string in_words(const ReplayForecast& forecast) {
  if (!forecast.reason.empty()) return "no: " + forecast.reason;
  if (forecast.calls == 0) return "not tried: a step takes too long";
  return std::to_string(forecast.calls) + " calls of kernels per micro-batch, " + std::to_string(forecast.own_calls) +
         " of them own kernels; its recording takes " + report::bytes_in_words(forecast.bytes) + " of at most " +
         report::bytes_in_words(forecast.most_bytes);
}

// A planned run as `plan --json` prints it.
struct PlanOfRun {
  struct Rank {
    std::int64_t rank = 0;
    std::vector<std::string> devices;

    void fields(config::Fields& f) {
      f({"rank"}, rank);
      f({"devices"}, devices);
    }
  };

  config::Experiment experiment = {};
  config::Length length = {};
  rank::Probe probe = {};
  ReplayForecast replay = {};
  std::int64_t world_size = 0;
  std::vector<Rank> ranks = {};
  std::int64_t bytes_per_rank = 0;
  Memory memory = {};
  std::int64_t snapshot_bytes = 0;
  Value sizes = {};
  DataDescription data = {};
  std::string results = {};
  std::vector<std::string> warnings = {};

  void fields(config::Fields& f) {
    const std::int64_t batch = experiment.batch_size.value_or(1);
    f.version();
    f({"name"}, experiment.name);
    f({"world_size"}, world_size);
    f({"ranks", "ranks of this machine"}, ranks);
    f({"backend"}, experiment.distributed.backend);
    f({"threads"}, experiment.threads.value_or(1));
    f({"batch_size"}, batch);
    f({"global_batch_size"}, batch * experiment.logical(static_cast<int>(world_size)) * experiment.accumulate);
    f({"train_samples", "0: endless"}, probe.train_samples);
    f({"validation_samples"}, probe.validation_samples);
    f({"test_samples"}, probe.test_samples);
    f({"steps_per_epoch"}, length.steps_per_epoch);
    f({"steps"}, length.steps);
    f({"epochs"}, length.epochs);
    f({"parameters"}, probe.parameters);
    f({"frozen_parameters", "frozen ones of `parameters`"}, probe.frozen_parameters);
    f({"parameter_bytes"}, probe.parameter_bytes);
    f({"operators", "calls in a forward of a model from Python; 0: another model"}, probe.operators);
    f({"bytes_per_rank", "of parameters, gradients, optimizer and average"}, bytes_per_rank);
    f({"memory", "bytes of rank 0 beyond those of a rank that trains a tiny model; shared memory counts whole"},
      memory);
    f({"replay"}, replay);
    f({.name = "shard",
       .doc = "optimizer: each rank updates its share of the parameters",
       .choices = {"none", "optimizer"}},
      probe.not_divided.empty() ? "optimizer" : "none");
    f({"snapshot_bytes", "additional bytes on rank 0 for a checkpoint"}, snapshot_bytes);
    f({"groups", "the last one has the unmatched parameters; empty: none"}, probe.groups);
    f({"layers", "of [optimizer] layers, the first one first; empty: none"}, probe.layers);
    f({"model"}, experiment.model.name);
    f({"sizes", "options of the model that the data can determine: from the file, or found in the data"}, sizes,
      {{"type", "object"}, {"additionalProperties", {{"type", {"integer", "array"}}}}});
    f({"data"}, data);
    f({"results", "folder of the experiment's runs"}, results);
    f({"warnings", "settings without effect, and other warnings, also about the data, as text for people"}, warnings);
  }
};

PlanOfRun output_of(const runs::Prepared& prepared, const DataDescription& data, const Memory& memory,
                    const std::string& folder) {
  const auto& [plan, probe] = std::tie(prepared.plan, prepared.probe);
  PlanOfRun all{.experiment = plan.experiment,
                .length = prepared.length,
                .probe = probe,
                .replay = forecast_of(plan, probe),
                .world_size = plan.world_size(),
                .bytes_per_rank = bytes_per_rank(plan, probe),
                .memory = memory,
                .snapshot_bytes = snapshot_bytes(plan, probe),
                .sizes = sizes_from_data(plan.experiment),
                .data = data,
                .results = folder,
                .warnings = prepared.warnings};
  for (int r = 0; r < plan.ranks_here(); ++r) {
    all.ranks.push_back({.rank = plan.first_rank + r, .devices = plan.groups[static_cast<std::size_t>(r)]});
  }
  return all;
}

// "430.2 MiB of rank 0: parameters 44.7 MiB, activations 120.1 MiB"
std::string in_words(const Memory& memory) {
  if (memory.peak == 0) return "not known: " + memory.reason;
  std::vector<std::string> parts;
  const Value written = config::write(memory);
  for (const auto& [part, bytes] : written.items()) {
    if (part == "peak" || !bytes.is_number() || bytes == 0) continue;
    parts.push_back(part + " " + report::bytes_in_words(bytes.get<std::int64_t>()));
  }
  return report::bytes_in_words(memory.peak) + " of rank 0: " + report::joined(parts);
}

// "*.bias, ndim<2: 40 parameters in 2 tensors, lr_scale 0.1, weight_decay 0.0"
std::string group_line(const config::GroupDescription& group) {
  std::vector<std::string> patterns;
  for (const std::string& pattern : group.match) patterns.push_back(config::printable(pattern));
  std::string line = (patterns.empty() ? "the others" : report::joined(patterns)) + ": " +
                     std::to_string(group.parameters) + " parameters in " + report::counted(group.tensors, "tensor");
  if (group.lr_scale != 1) line += ", lr_scale " + Value(group.lr_scale).dump();
  for (const auto& [option, value] : group.options.items()) line += ", " + option + " " + value.dump();
  return line;
}

// The ranks read the same blocks, each with its threads.
void print_stream(const config::StreamDescription& stream, const runs::Prepared& prepared) {
  const auto words = report::bytes_in_words;
  row("stream", report::counted(stream.blocks, "block") + " of up to " + words(stream.block_bytes) + ", " +
                    words(stream.memory_bytes) + " of them in a rank's memory; " + words(stream.epoch_bytes) +
                    " an epoch" + (stream.disk_bytes > 0 ? "; " + words(stream.disk_bytes) + " on disk" : ""));
  const double reading = static_cast<double>(prepared.probe.train_samples) / stream.samples_per_second /
                         static_cast<double>(std::max<std::int64_t>(1, prepared.plan.experiment.loader.workers));
  const double training = prepared.probe.step_seconds * static_cast<double>(prepared.length.steps_per_epoch);
  if (training <= 0) return;
  row("", "an epoch reads for " + report::duration(reading) + " and trains for " + report::duration(training) + ": " +
              (reading > training ? "reading is the bound" : "the ranks are the bound"));
}

}  // namespace

void show_plan(const runs::Prepared& prepared, const DataDescription& data, const Memory& memory,
               const std::filesystem::path& results, bool json) {
  const auto& [plan, length, probe] = std::tie(prepared.plan, prepared.length, prepared.probe);
  const auto& e = plan.experiment;
  const std::string folder = config::printable((results / e.name).string());
  if (json) {
    return report::print_json(config::written(output_of(prepared, data, memory, folder)), std::cout);
  }
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  row("experiment", e.name);
  std::string sizes;
  const Value found = sizes_from_data(e);
  for (const auto& [option, size] : found.items()) sizes += option + " " + size.dump() + ", ";
  row("model", e.model.name + ", " + sizes + text(probe.parameters) + " parameters (" +
                   report::bytes_in_words(probe.parameter_bytes) + ")" +
                   (probe.frozen_parameters > 0 ? ", " + text(probe.frozen_parameters) + " of them frozen" : "") +
                   (probe.operators > 0 ? ", " + text(probe.operators) + " calls of operators" : ""));
  const char* label = "groups";
  for (const config::GroupDescription& group : probe.groups) row(std::exchange(label, ""), group_line(group));
  label = "layers";
  for (const config::GroupDescription& layer : probe.layers) row(std::exchange(label, ""), group_line(layer));
  row("dataset", e.dataset.name + (probe.train_samples == 0
                                       ? ", endless samples"
                                       : ", " + text(probe.train_samples) + " samples to train on, " +
                                             text(probe.validation_samples + probe.test_samples) + " held out"));
  const std::string per = e.logical_ranks ? "logical rank" : "rank";
  row("batch", text(*e.batch_size) + " per " + per + " x " + text(plan.logical_ranks()) + " " + per + "s x " +
                   text(e.accumulate) + " micro-batches = " +
                   text(*e.batch_size * plan.logical_ranks() * e.accumulate) + " samples per step");
  row("steps", text(length.steps) + " (" + text(length.steps_per_epoch) + " per epoch, " +
                   report::counted(length.epochs, "epoch") + ")");
  row("memory", report::bytes_in_words(bytes_per_rank(plan, probe)) + " per rank for parameters, gradients" +
                    (e.ema.on() ? ", optimizer and average; " : " and optimizer; ") +
                    report::bytes_in_words(snapshot_bytes(plan, probe)) + " more on rank 0 for a checkpoint");
  if (memory.peak > 0 || !memory.reason.empty()) row("peak", in_words(memory));
  row("replay", in_words(forecast_of(plan, probe)));
  row("shard", probe.not_divided.empty() ? "optimizer: each rank updates its share of the parameters"
                                         : "none: " + probe.not_divided);
  row("ranks", text(plan.world_size()) + ", " + e.parallel +
                   (!plan.strategy.one_process ? " over " + e.distributed.backend : "") + ", " +
                   report::counted(*e.threads, "thread") + " each");
  int rank = plan.first_rank;
  for (const auto& devices : plan.device_names()) row("", "rank " + text(rank++) + ": " + devices);
  row("results", folder);
  print_sets(data);
  if (data.stream) print_stream(*data.stream, prepared);
  print_classes(data);
  print_columns(data);
  print_arrays(data);
  print_text(data.of_dataset);
  print_first_batch(data.first_batch);
}

namespace {

// Cost of a trial besides its steps: forks, set-up, files.
constexpr double kTrialSeconds = 0.05;
constexpr std::size_t kMostShown = 50;

double seconds_of(const sweep::PlannedTrial& trial) {
  return kTrialSeconds + trial.step_seconds * static_cast<double>(trial.length.steps);
}

// The time if all trials train to their ends; asha takes less.
double seconds_of(const sweep::SweepPlan& p) {
  double seconds = 0;
  for (const sweep::PlannedTrial& trial : p.trials) seconds += seconds_of(trial);
  return seconds / p.at_once;
}

// A planned sweep as `plan --json` prints it.
struct PlanOfSweep {
  struct Trial {
    std::int64_t trial = 0;
    Value parameters = Value::object();
    std::int64_t world_size = 0;
    std::int64_t steps = 0;
    std::optional<double> seconds = {};

    void fields(config::Fields& f) {
      f({"trial"}, trial);
      f({.name = "parameters",
         .doc = "{} while they depend on results of other trials",
         .types = {config::Type::table}},
        parameters);
      f({"world_size"}, world_size);
      f({"steps"}, steps);
      f({"seconds", "an estimate; null: none"}, seconds);
    }
  };

  std::string name = {}, method = {}, metric = {}, goal = {};
  std::int64_t at_once = 0;
  std::size_t gpus = 0;
  std::int64_t cores = 0;
  std::optional<double> seconds = {};
  std::string results = {};
  std::vector<Trial> trials = {};
  std::vector<std::string> warnings = {};

  void fields(config::Fields& f) {
    f.version();
    f({.name = "kind", .choices = {"sweep"}}, "sweep");
    f({"name"}, name);
    f({.name = "method", .choices = sweep::kMethods}, method);
    f({"metric"}, metric);
    f({.name = "goal", .choices = {"min", "max"}}, goal);
    f({"at_once"}, at_once);
    f({"gpus"}, gpus);
    f({"cores"}, cores);
    f({"seconds", "an estimate; null: none"}, seconds);
    f({"results", "folder of the experiment's sweeps"}, results);
    f({"trials"}, trials);
    f({"warnings"}, warnings);
  }
};

PlanOfSweep output_of(const sweep::SweepPlan& p, const std::string& folder) {
  const auto& sweep = p.loaded->sweep;
  PlanOfSweep all{.name = p.loaded->name,
                  .method = sweep.method.name,
                  .metric = sweep.metric.name,
                  .goal = sweep.goal(),
                  .at_once = p.at_once,
                  .gpus = p.gpus.size(),
                  .cores = p.cores,
                  .seconds = seconds_of(p),
                  .results = folder,
                  .warnings = p.warnings};
  for (int i = 0; i < p.search->trials(); ++i) {
    const sweep::PlannedTrial& trial = p.trials[static_cast<std::size_t>(i)];
    all.trials.push_back({.trial = i,
                          .parameters = p.search->decided(i) ? sweep.named(p.search->point(i)) : Value::object(),
                          .world_size = trial.ranks,
                          .steps = trial.length.steps,
                          .seconds = seconds_of(trial)});
  }
  return all;
}

const bool plan_schema_registered = register_schema<std::variant<PlanOfRun, PlanOfSweep>>("plan", "plan FILE --json");

}  // namespace

void show_sweep(const sweep::SweepPlan& p, const std::filesystem::path& results, bool json) {
  const std::string folder = config::printable((results / p.loaded->name).string());
  if (json) {
    return report::print_json(config::written(output_of(p, folder)), std::cout);
  }
  const auto& sweep = p.loaded->sweep;
  const auto trials = static_cast<std::size_t>(p.search->trials());
  const auto most_ranks = std::max_element(p.trials.begin(), p.trials.end(), [](const auto& a, const auto& b) {
                            return a.ranks < b.ranks;
                          })->ranks;
  std::int64_t steps = 0;
  for (const sweep::PlannedTrial& trial : p.trials) steps += trial.length.steps;
  const auto begins_decided = [&](std::size_t trial) { return p.search->decided(static_cast<int>(trial)); };
  const std::string at_most = p.search->independent()      ? ""
                              : begins_decided(trials - 1) ? " if every trial is promoted"
                                                           : " with values drawn at random";
  const bool is_sweep = p.loaded->is_sweep();
  report::Table facts;
  facts.row({is_sweep ? "sweep" : "cv",
             p.loaded->name + (is_sweep ? ", " + sweep.method.name + " for the " : ", best checkpoints by the ") +
                 (sweep.metric.direction == config::Direction::greater ? "greatest " : "least ") + sweep.metric.name});
  facts.row({is_sweep ? "trials" : "runs", std::to_string(trials) + ", up to " + report::counted(most_ranks, "rank") +
                                               " each, " + std::to_string(p.at_once) + " side by side"});
  facts.row({"devices", p.gpus.empty() ? report::counted(p.cores, "CPU core")
                                       : report::counted(static_cast<std::int64_t>(p.gpus.size()), "GPU")});
  facts.row({"steps", std::to_string(steps) + " in total" + at_most});
  facts.row({"time", "about " + report::duration(seconds_of(p)) + at_most});
  facts.row({"results", folder});
  std::size_t shown = 0;
  for (; shown < std::min(trials, kMostShown) && begins_decided(shown); ++shown) {
    const Value parameters = sweep.named(p.search->point(static_cast<int>(shown)));
    facts.row({(is_sweep ? "trial " : "run ") + std::to_string(shown), sweep::in_words(parameters)});
  }
  if (trials > shown) {
    const std::string why = begins_decided(shown) ? "" : ", with values that depend on the results of others";
    facts.row({"", "and " + std::to_string(trials - shown) + " more" + why});
  }
  facts.print(std::cout, {});
}

}  // namespace ddp::commands
