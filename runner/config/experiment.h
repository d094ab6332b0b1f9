#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/metric.h"
#include "config/option/option.h"

namespace ddp::config {

struct Distributed {
  std::string backend = "auto";
  std::string init_method = "env://";
  double timeout = 600;
  std::optional<double> bucket_cap_mb;
  bool find_unused_parameters = false;
  bool static_graph = false;
  std::optional<bool> gradient_as_bucket_view;  // yes: nobody but the optimizer sees gradients
  bool broadcast_buffers = true;
  bool gradients_are_views() const { return gradient_as_bucket_view.value_or(true); }
  void fields(Fields& f);
};

struct Loader {
  bool shuffle = true;
  bool drop_last = false;
  bool drop_last_batch = false;
  std::int64_t workers = 2;
  std::int64_t sampler_seed = 0;
  void fields(Fields& f);
};

// Samples to measure on: a share of the dataset, or data of their own.
struct HeldOut {
  Component dataset;  // no name: there are none
  double split = 0;
  bool stratify = false;  // the share holds in each class
  std::string by;         // a column whose equal values stay together; empty: none
  std::optional<std::int64_t> batch_size;

  bool exists() const { return split > 0 || !dataset.name.empty(); }
};

// A number of epochs, or of steps: the other one is 0.
struct Period {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
};

struct Validation : HeldOut {
  std::int64_t seed = 0;
  Value every = 1;

  // `every` as it was checked: epochs, or "250 steps".
  Period period() const;
  void fields(Fields& f);
};

// Data that are measured once, when the run has ended.
struct Test : HeldOut {
  void fields(Fields& f);
};

struct Checkpoint {
  std::int64_t save_every = 0;
  std::optional<std::int64_t> save_every_steps;
  double save_every_minutes = 10;
  std::int64_t keep_last = 2;
  std::int64_t keep_best = 1;
  bool rehearse = false;
  std::string metric;  // empty: val_loss where there is validation, else train_loss
  void fields(Fields& f);
};

// The limit of gradients before the optimizer takes them: one of both, or none.
struct Clip {
  std::optional<double> norm;   // of all of them together; 0: none
  std::optional<double> value;  // of each number; 0: none

  bool on() const { return norm.value_or(0) > 0 || value.value_or(0) > 0; }
  void fields(Fields& f);
};

// An average of the weights over the steps. A file that has the section has both keys once it is loaded; one that has
// none, or every = 0, has neither.
struct Ema {
  std::optional<double> decay;
  std::optional<std::int64_t> every;

  static constexpr double kDecay = 0.999;
  static constexpr std::int64_t kEvery = 1;

  bool on() const { return every.value_or(0) > 0; }
  void fields(Fields& f);
};

// The source of the first weights, where the seed does not draw them.
struct InitFrom {
  std::string path;                // a file, a checkpoint, or a run by its name; empty: none
  std::vector<std::string> skip;   // patterns of names whose tensors stay as they were drawn
  Value rename = Value::object();  // prefixes of the file's names, and what stands in their place, in this order
  void fields(Fields& f);
};

// When a run ends before its last step.
struct Stop {
  std::string metric;         // empty: the one that checkpoints are judged by
  std::int64_t patience = 0;  // 0: none
  double min_delta = 0;
  std::string max_time;  // "2h30m"; empty: none

  // max_time in seconds; nothing: none.
  std::optional<double> seconds() const;
  void fields(Fields& f);
};

struct Log {
  std::int64_t every = 1;
  bool tensorboard = true;
  void fields(Fields& f);
};

// Torch's default of ignore_index: a target of this class does not count.
inline constexpr std::int64_t kIgnoredByDefault = -100;

// Reads "250 steps"; nothing where it is something else.
std::optional<std::int64_t> steps_in(const std::string& text);

// An experiment file as plain structs; its fields' defaults are the file's defaults.
struct Experiment {
  std::string name;
  std::int64_t seed = 42;
  std::optional<std::int64_t> threads;
  std::vector<std::string> sources;  // the user's own files of C++
  bool deterministic = false;
  bool flush_denormal = false;
  Component model;
  Component dataset;
  Component loss;
  Value metrics;  // a list of names; null: accuracy, where it can be measured
  Component optimizer{.name = "sgd"};
  Component scheduler{.name = "constant"};
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> batch_size;
  std::optional<std::int64_t> global_batch_size;
  std::int64_t accumulate = 1;
  std::string precision = "fp32";
  std::optional<bool> tf32;  // without it torch's own: convolutions do, matrix products do not
  bool channels_last = false;
  Clip clip;
  Ema ema;
  std::vector<std::string> freeze;  // patterns of names of parameters that get no gradient
  Value groups = Value::array();    // of parameters, with options of their own: config/groups.h
  std::string on_nan = "stop";
  Value device_pool = "auto";                    // "auto", a count, or a list: launch::device_groups reads it
  std::optional<std::int64_t> devices_per_rank;  // 1; where device_pool lists groups, what they have
  std::string parallel = "ddp";
  double grace = 30;
  InitFrom init_from;
  Distributed distributed;
  Loader loader;
  Validation validation;
  Test test;
  Checkpoint checkpoint;
  Stop stop;
  Log log;
  void fields(Fields& f);

  // The names in `metrics`, each once, or its default.
  std::vector<std::string> metric_names() const;
  // The metric that judges checkpoints: checkpoint.metric, or its default.
  Metric best_metric() const;
  // The metric with that name in events, or best_metric() where it is empty: stop.metric, or that of a schedule.
  Metric metric_named(const std::string& name) const;
  // The class of targets that do not count: the loss's ignore_index, or torch's default.
  std::int64_t ignored_target() const;
  // The components that it can name: those that load() knew, with what `sources` adds; else the installed ones.
  Components components() const;
  // Takes these components, and from them the direction of that metric; load() calls it.
  void resolve(const Components& components);

 private:
  std::optional<Components> components_;
  Direction direction_ = Direction::less;  // of best_metric()
};

}  // namespace ddp::config
