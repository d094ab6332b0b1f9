#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/components.h"
#include "config/metric.h"
#include "config/option/fields.h"

namespace ddp::config {

struct Distributed {
  std::string backend = "auto";
  std::string init_method = "env://";
  double timeout = 600;
  std::optional<double> bucket_cap_mb;
  bool find_unused_parameters = false;
  bool static_graph = false;
  std::optional<bool> gradient_as_bucket_view;  // unset: true, because only the optimizer reads gradients
  bool broadcast_buffers = true;
  std::string shard = "auto";
  bool gradients_are_views() const { return gradient_as_bucket_view.value_or(true); }
  void fields(Fields& f);
};

struct Loader {
  bool shuffle = true;
  std::string sample = "all";  // "weighted", "balanced": drawn with replacement
  bool drop_last = false;
  bool drop_last_batch = false;
  std::int64_t workers = 2;
  std::int64_t sampler_seed = 0;
  bool stream = false;
  std::int64_t window = 16;
  std::string cache = "10GiB";
  std::int64_t retries = 8;

  // The bytes of `cache`.
  std::int64_t cache_bytes() const;
  void fields(Fields& f);
};

// Samples for validation or test: a share of the dataset, or separate data.
struct HeldOut {
  Component dataset;  // no name: no separate data
  double split = 0;
  bool stratify = false;  // hold out the same share of each class
  std::string by;         // column that keeps rows with equal values together; empty: none
  std::optional<std::int64_t> batch_size;

  bool exists() const { return split > 0 || !dataset.name.empty(); }
};

// A number of epochs or of steps; the other one is 0.
struct Period {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
};

// What to do where the rows of a run cannot be told from others.
inline constexpr const char* kOtherRowsRemedy =
    "restore them, or name the data to measure on: --set validation.split=0 --set validation.dataset.path=…";

struct Validation : HeldOut {
  std::int64_t seed = 0;
  double last = 0;                       // hold out this share of the rows, the last ones in the order of a column
  std::string order;                     // this column; empty: the order of the rows
  bool is_of_folds = false;              // the run holds out a fold of [folds]
  std::vector<std::int64_t> known_rows;  // ascending numbers of rows at which a split was drawn (data/split.h)
  Value every = 1;

  // Are samples of [dataset] held out?
  bool draws() const { return split > 0 || last > 0 || is_of_folds; }
  bool exists() const { return draws() || !dataset.name.empty(); }
  // `every` in parsed form: epochs, or "250 steps".
  Period period() const;
  void fields(Fields& f);
};

// The folds of a cross-validation, of which each run holds out one (data/split.h).
struct Folds {
  std::optional<std::int64_t> k;        // nothing: there are none
  std::optional<std::int64_t> repeats;  // each with another permutation; default: 1
  std::optional<std::int64_t> seed;     // of the first permutation; the next ones add 1; default: 0
  std::optional<bool> stratify;         // the same share of each class in each fold
  std::optional<std::string> by;        // column that keeps rows with equal values in one fold
  std::optional<std::string> order;     // column in whose order the folds follow each other
  std::optional<std::int64_t> gap;      // rows between training and a fold of `order`; default: 0
  std::optional<std::int64_t> fold;     // that a run holds out, from 0; nothing: `cv` trains all
  std::optional<std::int64_t> repeat;   // of the run, from 0; default: 0

  bool on() const { return k.has_value(); }
  void fields(Fields& f);
};

// The seeds of a cross-validation.
struct Repeat {
  Value seeds;                                   // a number of seeds, from the file's on, or a list; null: the file's
  std::optional<std::vector<std::string>> vary;  // keys that are set to a run's seed; default: seed, sampler_seed

  void fields(Fields& f);
};

// The data of the test at the end of a run.
struct Test : HeldOut {
  Value seed = 0;  // or kSeedOfValidation

  static constexpr const char* kSeedOfValidation = "validation";
  void fields(Fields& f);
};

struct Checkpoint {
  std::int64_t save_every = 0;
  std::optional<std::int64_t> save_every_steps;
  double save_every_minutes = 10;
  std::optional<std::int64_t> keep_last;
  std::optional<bool> ladder;
  std::int64_t keep_best = 1;
  std::string mirror;  // a folder or a URL; empty: none
  bool rehearse = false;
  bool initial_weights = true;
  std::string metric;  // empty: val_loss with validation, else train_loss
  std::string goal;    // "min" or "max"; empty: the metric's own direction

  static constexpr std::int64_t kKeepLast = 2;

  // How many of the newest checkpoints stay; nothing: those of the ladder.
  std::optional<std::int64_t> newest_to_keep() const;
  void fields(Fields& f);
};

// The limit of gradients before the optimizer step: one of the two keys, or neither.
struct Clip {
  std::optional<double> norm;   // of all gradients together; 0: no limit
  std::optional<double> value;  // of each element; 0: no limit

  void fields(Fields& f);
};

// An exponential moving average of the weights over the steps. With the section [ema], loading sets both keys. Without
// the section, or with every = 0, neither is set.
struct Ema {
  std::optional<double> decay;
  std::optional<std::int64_t> every;

  static constexpr double kDecay = 0.999;
  static constexpr std::int64_t kEvery = 1;

  bool on() const { return every.value_or(0) > 0; }
  void fields(Fields& f);
};

// The source of the initial weights, if the seed does not draw them.
struct InitFrom {
  std::string path;                // a file, a checkpoint, or a run by its name; empty: none
  std::vector<std::string> skip;   // patterns of names of tensors that keep their initial values
  Value rename = Value::object();  // prefixes of the file's names and their replacements, in this order
  void fields(Fields& f);
};

// The conditions that end a run before its last step.
struct Stop {
  std::string metric;         // empty: the metric that judges checkpoints
  std::string goal;           // empty: the metric's own direction, or else the goal of checkpoints
  std::int64_t patience = 0;  // 0: none
  double min_delta = 0;
  std::string max_time;  // "2h30m"; empty: none

  // max_time in seconds; nothing if it is not set.
  std::optional<double> seconds() const;
  void fields(Fields& f);
};

// How probabilities become answers, fitted to the validation.
struct Decide {
  Value threshold;  // of the positive class: a number, kF1 or kBalancedAccuracy; null: the most probable class
  std::string calibrate = "none";  // "temperature", "isotonic"

  static constexpr const char* kF1 = "f1";
  static constexpr const char* kBalancedAccuracy = "balanced_accuracy";
  bool on() const { return !threshold.is_null() || calibrate != "none"; }
  void fields(Fields& f);
};

struct Log {
  std::int64_t every = 1;
  bool tensorboard = true;
  void fields(Fields& f);
};

// A command that runs once at the end of a run or a sweep.
struct Notify {
  std::optional<std::string> command;
  void fields(Fields& f);
};

// The loss's option of class weights, and its value for weights that follow from the data.
inline constexpr const char* kWeight = "weight";
inline constexpr const char* kBalanced = "balanced";
// Torch's default ignore_index: targets of this class do not count.
inline constexpr std::int64_t kIgnoredByDefault = -100;

// Reads "250 steps"; returns nothing for any other text.
std::optional<std::int64_t> steps_in(const std::string& text);

// A condition on the number of dimensions of a parameter: "ndim<2".
struct Condition {
  std::string comparison;  // "<", "<=", ">", ">=", "=="
  std::int64_t ndim = 0;

  bool holds(std::int64_t dimensions) const;
  // False if the condition holds for no number of dimensions.
  bool can_hold() const;
};

// Is the text a condition rather than a pattern of names?
bool is_condition(const std::string& text);
// Returns nothing if the text is not a valid condition.
std::optional<Condition> condition_of(const std::string& text);

// One table of [[groups]]: parameters with their own options of the optimizer.
struct ParameterGroup {
  Value match;  // a pattern of names or a condition, or a list of them
  double lr_scale = 1;
  std::optional<std::string> optimizer;  // of this group alone, with options of its own; nothing: the experiment's
  Value options = Value::object();       // options of the optimizer that the group sets

  std::vector<std::string> patterns() const;  // none: of the parameters that no group matches
  void fields(Fields& f);
};

// The options that every optimizer has beside its own: lr falls from the model's last layer to its first one.
struct LayerDecay {
  std::optional<double> layer_decay;
  std::optional<std::vector<std::string>> layers;  // patterns of the beginnings of names, the first layer first

  void fields(Fields& f);
};

// The option that every model has beside its own.
struct SyncBatchNorm {
  std::optional<bool> sync_batch_norm;

  void fields(Fields& f);
};

// An experiment file as plain structs; its fields' defaults are the file's defaults.
struct Experiment {
  std::string name;
  std::int64_t seed = 42;
  std::optional<std::int64_t> threads;
  std::vector<std::string> sources;  // the user's own C++ files
  bool deterministic = false;
  bool flush_denormal = false;
  Component model;
  Component dataset;
  Component loss;
  Value metrics;  // a list of names; null: accuracy, if the targets allow it
  Component optimizer{.name = "sgd"};
  Component scheduler{.name = "constant"};
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> batch_size;
  std::optional<std::int64_t> global_batch_size;
  std::int64_t accumulate = 1;
  std::optional<std::int64_t> logical_ranks;  // default: the number of ranks
  std::string precision = "fp32";
  std::optional<bool> tf32;  // default: PyTorch's, TF32 for convolutions but not for matrix products
  bool channels_last = false;
  Clip clip;
  Ema ema;
  std::vector<std::string> freeze;  // patterns of names of parameters that get no gradient
  Value groups = Value::array();    // of parameters, with their own options: parameter_groups()
  std::string on_nan = "stop";
  std::string replay = "auto";
  Value device_pool = "auto";                    // "auto", a count, or a list: launch::device_groups reads it
  std::optional<std::int64_t> devices_per_rank;  // default: 1, or the group size of a device_pool with groups
  std::string parallel = "ddp";
  double grace = 30;
  InitFrom init_from;
  Distributed distributed;
  Loader loader;
  Validation validation;
  Test test;
  Folds folds;
  Repeat repeat;
  Checkpoint checkpoint;
  Decide decide;
  Stop stop;
  Log log;
  Notify notify;
  void fields(Fields& f);

  // The number of ranks that defines the training, for so many ranks that compute it.
  int logical(int ranks) const { return static_cast<int>(logical_ranks.value_or(ranks)); }
  // The names in `metrics`, without repetitions, or its default.
  std::vector<std::string> metric_names() const;
  // The metric that judges checkpoints: checkpoint.metric, or its default.
  Metric best_metric() const;
  // The metric with that name in events; best_metric() for an empty name. For stop.metric and a scheduler's metric.
  // `goal`: of the same section, or "".
  Metric metric_named(const std::string& name, const std::string& goal = "") const;
  // The class of targets that do not count: the loss's ignore_index, or torch's default.
  std::int64_t ignored_target() const;
  // Tells whether validation or test are samples of [dataset].
  bool draws_sets() const { return validation.draws() || test.split > 0; }
  // Tells whether the samples of the dataset have weights.
  bool weighs_samples() const;
  // Tells whether batch norms of the model take their statistics from the batches of all ranks.
  bool syncs_batch_norm() const;
  // The components that the experiment can name: the ones load() used, including `sources`; otherwise the installed
  // ones.
  Components components() const;
  // The properties of its backend; none if it is still "auto".
  Transport transport() const;
  // Stores these components and reads the direction of the best metric from them; load() calls it.
  void resolve(const Components& components);

 private:
  std::optional<Components> components_;
  Direction direction_ = Direction::less;  // of best_metric()
};

// The datasets of an experiment, with their sections; some may have no name.
inline std::array<std::pair<const char*, Component*>, 3> datasets_of(Experiment& e) {
  return {
      {{"dataset.", &e.dataset}, {"validation.dataset.", &e.validation.dataset}, {"test.dataset.", &e.test.dataset}}};
}

// The experiment without [notify] and the queries of URLs, which make no two runs different.
Experiment comparable(Experiment experiment);

// The parameter groups of a checked experiment, in the order of the file.
std::vector<ParameterGroup> parameter_groups(const Experiment& experiment);

// Returns the options of an optimizer that a group may set: all but those of LayerDecay. They have no defaults: a group
// inherits missing options from [optimizer].
std::vector<Option> options_of_group(const Spec& optimizer);

// Adds these options except lr to the keys of [[groups]]. An empty name adds the options of every optimizer.
void supply_group_keys(std::vector<Option>& options, const Components& components, const std::string& optimizer);

// A key at the top of a file that is short for a key of a section.
struct ShortForm {
  const char* key;
  const char* section;
};
inline constexpr std::array<ShortForm, 2> kShortForms{{{"backend", "distributed"}, {"save_every", "checkpoint"}}};

// A section that may be given as a text, which is the value of one of its keys.
inline constexpr std::array<ShortForm, 1> kTextForms{{{"path", "init_from"}}};

// Two keys of which a file may give only one. The given one replaces an inherited other one.
struct Alternatives {
  const char* section;  // of the two keys; "": at the top
  const char* first;
  const char* second;
};
inline constexpr std::array<Alternatives, 4> kAlternatives{{{"", "epochs", "steps"},
                                                            {"", "batch_size", "global_batch_size"},
                                                            {"clip", "norm", "value"},
                                                            {"checkpoint", "keep_last", "ladder"}}};

// The same, but config.toml contains both keys, one with a default without effect. check/rules reports a file
// that gives both.
inline constexpr Alternatives kWarmups{"scheduler", "warmup_steps", "warmup"};

}  // namespace ddp::config
