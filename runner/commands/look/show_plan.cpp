#include "commands/look/show_plan.h"

#include <cstdio>
#include <iostream>
#include <tuple>
#include <utility>

#include "commands/look/show_data.h"
#include "config/components.h"
#include "config/text/source.h"

namespace ddp::commands {
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

config::Value to_json(const Prepared& prepared, const config::Value& data, const std::string& folder) {
  const auto& [plan, w, probe] = std::tie(prepared.plan, prepared.workload, prepared.probe);
  const auto& e = plan.experiment;
  config::Value ranks = config::Value::array();
  for (int r = 0; r < plan.ranks_here(); ++r) {
    ranks.push_back({{"rank", plan.first_rank + r}, {"devices", plan.groups[r]}});
  }
  return {{"version", 1},
          {"name", e.name},
          {"world_size", plan.world_size()},
          {"ranks", ranks},
          {"backend", e.distributed.backend},
          {"threads", *e.threads},
          {"batch_size", *e.batch_size},
          {"global_batch_size", *e.batch_size * plan.world_size() * e.accumulate},
          {"train_samples", w.train_samples},
          {"validation_samples", w.validation_samples},
          {"test_samples", probe.test_samples},
          {"steps_per_epoch", w.length.steps_per_epoch},
          {"steps", w.length.steps},
          {"epochs", w.length.epochs},
          {"parameters", probe.parameters},
          {"frozen_parameters", probe.frozen_parameters},
          {"parameter_bytes", probe.parameter_bytes},
          {"bytes_per_rank", bytes_per_rank(plan, probe)},
          {"snapshot_bytes", snapshot_bytes(plan, probe)},
          {"groups", probe.groups},
          {"model", e.model.name},
          {"sizes", sizes_from_data(e)},
          {"data", data},
          {"results", folder},
          {"warnings", prepared.warnings}};
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

void show_plan(const Prepared& prepared, const config::Value& data, const std::filesystem::path& results, bool json) {
  const auto& [plan, w, probe] = std::tie(prepared.plan, prepared.workload, prepared.probe);
  const auto& e = plan.experiment;
  const std::string folder = config::printable((results / e.name).string());
  if (json) {
    std::cout << to_json(prepared, data, folder).dump(2, ' ', false, config::Value::error_handler_t::replace)
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

}  // namespace ddp::commands
