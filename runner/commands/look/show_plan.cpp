#include "commands/look/show_plan.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "config/components.h"
#include "config/text/source.h"
#include "report/text/table.h"
#include "report/text/words.h"
#include "sweep/journal.h"
#include "sweep/trials.h"

namespace ddp::commands {

namespace {

using config::Value;

constexpr std::size_t kLinesListed = 12;
constexpr std::size_t kValuesInLine = 8;
constexpr std::size_t kLabelWidth = 13;  // including the space behind it, as in the lines of a plan

// Names come from untrusted files.
std::string shown_text(const Value& text) { return config::printable(text.get<std::string>()); }

std::string shown_number(const Value& number) {
  if (number.is_null()) return "none";
  return number.is_number_float() ? report::in_words(number.get<double>()) : number.dump();
}

std::string shown_shape(const Value& shape) {
  std::string text;
  for (const Value& extent : shape) text += (text.empty() ? "" : ", ") + extent.dump();
  return "[" + text + "]";
}

// Prints a table behind a label, and the number of rows that are left out.
void print_labelled(const std::string& label, const report::Table& table, std::size_t left_out, std::ostream& out,
                    const report::Terminal& terminal) {
  if (table.empty()) return;
  const std::string indent(kLabelWidth, ' ');
  std::ostringstream lines;
  table.print(lines, terminal, indent);
  out << label << indent.substr(label.size()) << lines.str().substr(kLabelWidth);
  if (left_out > 0) out << indent << "and " << left_out << " more\n";
}

report::Table table_of_sets(const Value& data) {
  report::Table table({{.header = "set"}, {.header = "samples", .right = true}, {.header = "tokens", .right = true}});
  for (const Value& set : data.at("sets")) {
    table.row({set.at("set").get<std::string>(), set.at("samples").is_null() ? "endless" : set.at("samples").dump(),
               set.contains("tokens") ? set.at("tokens").dump() : ""});
  }
  return table;
}

void print_classes(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("classes")) return;
  const Value& names = data.at("classes").at("names");
  std::vector<report::Column> columns{{.header = "class"}};
  for (const Value& set : data.at("sets")) {
    columns.push_back({.header = set.at("set").get<std::string>(), .right = true});
  }
  report::Table table(std::move(columns));
  const std::size_t listed = std::min(names.size(), kLinesListed);
  for (std::size_t i = 0; i < listed; ++i) {
    std::vector<std::string> cells{shown_text(names[i])};
    for (const Value& set : data.at("sets")) cells.push_back(set.at("class_counts")[i].dump());
    table.row(std::move(cells));
  }
  print_labelled("classes", table, data.at("classes").at("count").get<std::size_t>() - listed, out, terminal);
}

// "3: blue, green, red"
std::string values_of(const Value& column) {
  if (!column.contains("values")) return "";
  std::string text = column.at("value_count").dump() + ":";
  const Value& values = column.at("values");
  for (std::size_t i = 0; i < std::min(values.size(), kValuesInLine); ++i) {
    text += (i > 0 ? ", " : " ") + shown_text(values[i]);
  }
  return column.at("value_count") > kValuesInLine ? text + ", …" : text;
}

// Targets follow the features; they are shown even if the list of features is cut.
void print_columns(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("columns")) return;
  report::Table table({{.header = "column"}, {.header = "role"}, {.header = "type"}, {.header = "values"}});
  std::size_t listed = 0;
  for (const char* role : {"target", "feature"}) {
    for (const Value& column : data.at("columns")) {
      if (column.at("role") != role || listed >= kLinesListed) continue;
      table.row({shown_text(column.at("name")), role, column.at("type").get<std::string>(), values_of(column)});
      ++listed;
    }
  }
  print_labelled("columns", table, data.at("columns").size() - listed, out, terminal);
}

void print_arrays(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  if (!data.contains("arrays")) return;
  report::Table table({{.header = "array"}, {.header = "role"}, {.header = "stored as"}, {.header = "shape"}});
  for (const Value& one : data.at("arrays")) {
    table.row({shown_text(one.at("name")), one.at("role").get<std::string>(), one.at("dtype").get<std::string>(),
               shown_shape(one.at("shape"))});
  }
  print_labelled("arrays", table, 0, out, terminal);
}

void print_text(const Value& data, std::ostream& out) {
  if (!data.contains("block_size")) return;
  out << "text         samples of " << data.at("block_size").dump() << " tokens";
  if (data.contains("tokenizer")) {
    out << ", tokenizer \"" << shown_text(data.at("tokenizer")) << "\" with " << data.at("vocab_size").dump()
        << " tokens";
  }
  out << "\n";
}

std::vector<Value> tensors_of(const Value& batch) {
  std::vector<Value> tensors;
  for (const char* role : {"input", "target"}) {
    for (Value one : batch.at(std::string(role) + "s")) {
      one["role"] = role;
      tensors.push_back(std::move(one));
    }
  }
  return tensors;
}

void print_first_batch(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  const std::vector<Value> tensors = tensors_of(data.at("first_batch"));
  const bool all_finite =
      std::all_of(tensors.begin(), tensors.end(), [](const Value& one) { return one.at("not_finite") == 0; });
  std::vector<report::Column> columns{{.header = "tensor"},
                                      {.header = "role"},
                                      {.header = "type"},
                                      {.header = "shape"},
                                      {.header = "least", .right = true},
                                      {.header = "greatest", .right = true}};
  if (!all_finite) columns.push_back({.header = "inf or nan", .right = true});
  report::Table table(std::move(columns));
  for (const Value& one : tensors) {
    std::vector<std::string> cells{shown_text(one.at("name")),         one.at("role").get<std::string>(),
                                   one.at("dtype").get<std::string>(), shown_shape(one.at("shape")),
                                   shown_number(one.at("least")),      shown_number(one.at("greatest"))};
    if (!all_finite) cells.push_back(one.at("not_finite").dump());
    table.row(std::move(cells));
  }
  print_labelled("first batch", table, 0, out, terminal);
}

}  // namespace

void show_data(const Value& data, std::ostream& out, const report::Terminal& terminal) {
  print_labelled("data", table_of_sets(data), 0, out, terminal);
  print_classes(data, out, terminal);
  print_columns(data, out, terminal);
  print_arrays(data, out, terminal);
  print_text(data, out);
  print_first_batch(data, out, terminal);
}

namespace {

// Bytes of a rank for an average of the weights: its share; the gathered average, from a validation or save to the next
// update; and the buffers at the last update, if updates are rarer than steps.
std::int64_t bytes_of_average(const launch::Plan& plan, const rank::Probe& probe) {
  const config::Ema& ema = plan.experiment.ema;
  if (!ema.on()) return 0;
  const std::int64_t ranks = plan.world_size();
  const std::int64_t gathered = ranks > 1 ? probe.parameter_bytes : 0;
  return (probe.parameter_bytes + ranks - 1) / ranks + gathered + (*ema.every > 1 ? probe.buffer_bytes : 0);
}

// Bytes of a rank for each parameter: the parameter, its gradient, its place in a bucket (unless gradients are views
// into the buckets), the optimizer state, and its average if there is one.
std::int64_t bytes_per_rank(const launch::Plan& plan, const rank::Probe& probe) {
  const bool buckets = !plan.strategy.one_process && !plan.experiment.distributed.gradients_are_views();
  return probe.parameter_bytes + (buckets ? 2 : 1) * probe.gradient_bytes + probe.optimizer_bytes + probe.buffer_bytes +
         bytes_of_average(plan, probe);
}

// Bytes of rank 0 for a checkpoint: a copy that is written while training continues. An average has the size of the
// parameters, and its own buffers.
std::int64_t snapshot_bytes(const launch::Plan& plan, const rank::Probe& probe) {
  const std::int64_t own = plan.experiment.distributed.broadcast_buffers ? 0 : plan.world_size() * probe.buffer_bytes;
  const std::int64_t average = plan.experiment.ema.on() ? probe.parameter_bytes + probe.buffer_bytes : 0;
  return probe.parameter_bytes + probe.buffer_bytes + probe.optimizer_bytes + own + average;
}

// Returns the options of the model that can come from the data, whether given or found.
config::Value sizes_from_data(const config::Experiment& e) {
  config::Value sizes = config::Value::object();
  const auto components = e.components();
  const config::Spec* model = components.find("model", e.model.name);
  if (model == nullptr) return sizes;
  for (const config::Option& option : model->options) {
    const auto size = e.model.options.find(option.name);
    if (!option.from_data.empty() && size != e.model.options.end()) sizes[option.name] = *size;
  }
  return sizes;
}

std::string readable(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

PlanOfRun output_of(const Prepared& prepared, const config::Value& data, const std::string& folder) {
  const auto& [plan, w, probe] = std::tie(prepared.plan, prepared.workload, prepared.probe);
  const auto& e = plan.experiment;
  PlanOfRun all{.experiment = e,
                .workload = w,
                .probe = probe,
                .world_size = plan.world_size(),
                .bytes_per_rank = bytes_per_rank(plan, probe),
                .snapshot_bytes = snapshot_bytes(plan, probe),
                .sizes = sizes_from_data(e),
                .data = data,
                .results = folder,
                .warnings = prepared.warnings};
  for (int r = 0; r < plan.ranks_here(); ++r) {
    all.ranks.push_back({.rank = plan.first_rank + r, .devices = plan.groups[static_cast<std::size_t>(r)]});
  }
  return all;
}

void row(const char* label, const std::string& value) { std::printf("%-12s %s\n", label, value.c_str()); }

// "*.bias, ndim<2: 40 parameters in 2 tensors, lr_scale 0.1, weight_decay 0.0"
std::string group_line(const config::Value& group) {
  std::string patterns;
  for (const config::Value& pattern : group.at("match")) {
    patterns += (patterns.empty() ? "" : ", ") + config::printable(pattern.get<std::string>());
  }
  const auto tensors = group.at("tensors").get<std::int64_t>();
  std::string line = (patterns.empty() ? "the others" : patterns) + ": " + group.at("parameters").dump() +
                     " parameters in " + std::to_string(tensors) + (tensors == 1 ? " tensor" : " tensors");
  if (group.at("lr_scale") != 1) line += ", lr_scale " + group.at("lr_scale").dump();
  for (const auto& [option, value] : group.at("options").items()) line += ", " + option + " " + value.dump();
  return line;
}

void show_groups(const config::Value& groups) {
  const char* label = "groups";
  for (const config::Value& group : groups) row(std::exchange(label, ""), group_line(group));
}

}  // namespace

void PlanOfRun::Rank::members(config::Members& m) const {
  m({"rank"}, rank);
  m({"devices"}, devices);
}

void PlanOfRun::members(config::Members& m) const {
  const std::int64_t batch = experiment.batch_size.value_or(1);
  m.version();
  m({"name"}, experiment.name);
  m({"world_size"}, world_size);
  m({"ranks", "ranks of this machine"}, ranks);
  m({"backend"}, experiment.distributed.backend);
  m({"threads"}, experiment.threads.value_or(1));
  m({"batch_size"}, batch);
  m({"global_batch_size"}, batch * world_size * experiment.accumulate);
  m({"train_samples", "0: endless"}, workload.train_samples);
  m({"validation_samples"}, workload.validation_samples);
  m({"test_samples"}, probe.test_samples);
  m({"steps_per_epoch"}, workload.length.steps_per_epoch);
  m({"steps"}, workload.length.steps);
  m({"epochs"}, workload.length.epochs);
  m({"parameters"}, probe.parameters);
  m({"frozen_parameters", "frozen ones of `parameters`"}, probe.frozen_parameters);
  m({"parameter_bytes"}, probe.parameter_bytes);
  m({"bytes_per_rank"}, bytes_per_rank);
  m({"snapshot_bytes", "additional bytes on rank 0 for a checkpoint"}, snapshot_bytes);
  m.as<std::vector<config::GroupDescription>>({"groups", "the last one has the unmatched parameters; empty: none"},
                                              probe.groups);
  m({"model"}, experiment.model.name);
  m({"sizes", "options of the model that the data can determine: from the file, or found in the data"}, sizes,
    {{"type", "object"}, {"additionalProperties", {{"type", {"integer", "array"}}}}});
  m.as<config::DataDescription>({"data"}, data);
  m({"results", "folder of the experiment's runs"}, results);
  m({"warnings", "settings without effect, and other warnings, also about the data, as text for people"}, warnings);
}

void show_plan(const Prepared& prepared, const config::Value& data, const std::filesystem::path& results, bool json) {
  const auto& [plan, w, probe] = std::tie(prepared.plan, prepared.workload, prepared.probe);
  const auto& e = plan.experiment;
  const std::string folder = config::printable((results / e.name).string());
  if (json) {
    std::cout << config::written(output_of(prepared, data, folder))
                     .dump(2, ' ', false, config::Value::error_handler_t::replace)
              << std::endl;
    return;
  }
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  row("experiment", e.name);
  std::string sizes;
  const config::Value found = sizes_from_data(e);
  for (const auto& [option, size] : found.items()) sizes += option + " " + size.dump() + ", ";
  row("model", e.model.name + ", " + sizes + text(probe.parameters) + " parameters (" +
                   readable(probe.parameter_bytes) + ")" +
                   (probe.frozen_parameters > 0 ? ", " + text(probe.frozen_parameters) + " of them frozen" : ""));
  show_groups(probe.groups);
  row("dataset",
      e.dataset.name + (w.train_samples == 0 ? ", endless samples"
                                             : ", " + text(w.train_samples) + " samples to train on, " +
                                                   text(w.validation_samples + probe.test_samples) + " held out"));
  row("batch", text(*e.batch_size) + " per rank x " + text(plan.world_size()) + " ranks x " + text(e.accumulate) +
                   " micro-batches = " + text(*e.batch_size * plan.world_size() * e.accumulate) + " samples per step");
  row("steps", text(w.length.steps) + " (" + text(w.length.steps_per_epoch) + " per epoch, " + text(w.length.epochs) +
                   (w.length.epochs == 1 ? " epoch)" : " epochs)"));
  row("memory", readable(bytes_per_rank(plan, probe)) + " per rank for parameters, gradients" +
                    (e.ema.on() ? ", optimizer and average; " : " and optimizer; ") +
                    readable(snapshot_bytes(plan, probe)) + " more on rank 0 for a checkpoint");
  row("ranks", text(plan.world_size()) + ", " + e.parallel +
                   (!plan.strategy.one_process ? " over " + e.distributed.backend : "") + ", " + text(*e.threads) +
                   (*e.threads == 1 ? " thread each" : " threads each"));
  int rank = plan.first_rank;
  for (const auto& devices : plan.device_names()) row("", "rank " + text(rank++) + ": " + devices);
  row("results", folder);
  std::fflush(stdout);
  show_data(data, std::cout, report::terminal_of_stdout());
}

namespace {

using config::Value;

// Cost of a trial besides its steps: forks, set-up, files.
constexpr double kTrialSeconds = 0.05;
constexpr std::size_t kMostShown = 50;

double seconds_of(const PlannedTrial& trial) {
  return kTrialSeconds + trial.step_seconds * static_cast<double>(trial.workload.length.steps);
}

// The time if all trials train to their ends; asha takes less.
double seconds_of(const PreparedSweep& p) {
  double seconds = 0;
  for (const PlannedTrial& trial : p.trials) seconds += seconds_of(trial);
  return seconds / p.at_once;
}

PlanOfSweep output_of(const PreparedSweep& p, const std::string& folder) {
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
    const PlannedTrial& trial = p.trials[static_cast<std::size_t>(i)];
    all.trials.push_back({.trial = i,
                          .parameters = p.search->decided(i) ? sweep.named(p.search->point(i)) : Value::object(),
                          .world_size = trial.ranks,
                          .steps = trial.workload.length.steps,
                          .seconds = seconds_of(trial)});
  }
  return all;
}

}  // namespace

void PlanOfSweep::Trial::members(config::Members& m) const {
  m({"trial"}, trial);
  m({.name = "parameters", .doc = "{} while they depend on results of other trials", .type = "object"}, parameters);
  m({"world_size"}, world_size);
  m({"steps"}, steps);
  m({"seconds", "an estimate; null: none"}, seconds);
}

void PlanOfSweep::members(config::Members& m) const {
  m.version();
  m({.name = "kind", .choices = "sweep"}, "sweep");
  m({"name"}, name);
  m({.name = "method", .choices = sweep::kMethods}, method);
  m({"metric"}, metric);
  m({.name = "goal", .choices = "min|max"}, goal);
  m({"at_once"}, at_once);
  m({"gpus"}, gpus);
  m({"cores"}, cores);
  m({"seconds", "an estimate; null: none"}, seconds);
  m({"results", "folder of the experiment's sweeps"}, results);
  m({"trials"}, trials);
  m({"warnings"}, warnings);
}

void show_sweep(const PreparedSweep& p, const std::filesystem::path& results, bool json) {
  const std::string folder = config::printable((results / p.loaded->name).string());
  if (json) {
    std::cout << config::written(output_of(p, folder)).dump(2, ' ', false, Value::error_handler_t::replace)
              << std::endl;
    return;
  }
  const auto& sweep = p.loaded->sweep;
  const auto trials = static_cast<std::size_t>(p.search->trials());
  const auto most_ranks = std::max_element(p.trials.begin(), p.trials.end(), [](const auto& a, const auto& b) {
                            return a.ranks < b.ranks;
                          })->ranks;
  std::int64_t steps = 0;
  for (const PlannedTrial& trial : p.trials) steps += trial.workload.length.steps;
  const auto begins_decided = [&](std::size_t trial) { return p.search->decided(static_cast<int>(trial)); };
  const std::string at_most = p.search->independent()      ? ""
                              : begins_decided(trials - 1) ? " if every trial is promoted"
                                                           : " with values drawn at random";
  report::Table facts;
  facts.row({"sweep", p.loaded->name + ", " + sweep.method.name + " for the " +
                          (sweep.metric.direction == config::Direction::greater ? "greatest " : "least ") +
                          sweep.metric.name});
  facts.row({"trials", std::to_string(trials) + ", up to " + report::counted(most_ranks, "rank") + " each, " +
                           std::to_string(p.at_once) + " side by side"});
  facts.row({"devices", p.gpus.empty() ? report::counted(p.cores, "CPU core")
                                       : report::counted(static_cast<std::int64_t>(p.gpus.size()), "GPU")});
  facts.row({"steps", std::to_string(steps) + " in total" + at_most});
  facts.row({"time", "about " + report::duration(seconds_of(p)) + at_most});
  facts.row({"results", folder});
  std::size_t shown = 0;
  for (; shown < std::min(trials, kMostShown) && begins_decided(shown); ++shown) {
    const config::Value parameters = sweep.named(p.search->point(static_cast<int>(shown)));
    facts.row({"trial " + std::to_string(shown), sweep::in_words(parameters)});
  }
  if (trials > shown) {
    const std::string why = begins_decided(shown) ? "" : ", with values that depend on the results of others";
    facts.row({"", "and " + std::to_string(trials - shown) + " more" + why});
  }
  facts.print(std::cout, {});
}

}  // namespace ddp::commands
