#include "config/experiment.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text_number.h"
#include "config/difference.h"
#include "config/length.h"

namespace ddp::config {
namespace {

// The limit of counts: products of two of them fit in 64 bits.
constexpr double kMost = 1e9;

constexpr std::string_view kNdim = "ndim";
constexpr std::string_view kComparisons[] = {"<=", ">=", "==", "<", ">"};  // the longer ones first

}  // namespace

void Distributed::fields(Fields& f) {
  f({.name = "backend",
     .doc = "backend of the all-reduce; auto: nccl for GPUs, shm for CPU ranks that one command forks, else gloo",
     .aliases = {"dist_backend", "distributed_backend"},
     .choices = {"auto"},
     .names_kind = "backend"},
    backend);
  f({.name = "init_method",
     .doc = "rendezvous of the ranks: env:// (set by the launcher), tcp://host:port or file:///path",
     .aliases = {"dist_url"}},
    init_method);
  f({.name = "timeout", .doc = "seconds a collective waits for the slowest rank", .range = up_to(1e7)}, timeout);
  f({.name = "bucket_cap_mb", .doc = "size of a gradient bucket in MiB (DDP: 25)", .range = up_to(1e6)}, bucket_cap_mb);
  f({.name = "find_unused_parameters",
     .doc = "allow parameters without a gradient in a step",
     .aliases = {"ddp_find_unused_parameters"}},
    find_unused_parameters);
  f({.name = "static_graph", .doc = "every step uses the same parameters"}, static_graph);
  f({.name = "gradient_as_bucket_view",
     .doc = "gradients are views into the buckets (default true): less memory, one copy less, same results"},
    gradient_as_bucket_view);
  f({.name = "broadcast_buffers", .doc = "broadcast rank 0's buffers before each forward pass"}, broadcast_buffers);
  f({.name = "shard",
     .doc = "optimizer: each rank updates its share of the parameters and keeps only its state, with the same bits; "
            "auto: where ranks share memory and the model is large enough",
     .choices = {"auto", "none", "optimizer"}},
    shard);
}

void Loader::fields(Fields& f) {
  f({.name = "shuffle", .doc = "a new order of samples in each epoch"}, shuffle);
  f({.name = "sample",
     .doc = "all: each sample once an epoch; weighted: drawn with replacement by dataset.weights, which then do not "
            "weigh in the loss; balanced: so that each class is drawn as often",
     .choices = {"all", "weighted", "balanced"}},
    sample);
  f({.name = "drop_last", .doc = "drop samples that do not divide evenly among the ranks, instead of repeating some"},
    drop_last);
  f({.name = "drop_last_batch",
     .doc = "drop the last batch of an epoch on each rank if it is incomplete",
     .aliases = {"dataloader_drop_last"}},
    drop_last_batch);
  f({.name = "workers",
     .doc = "threads per rank that prefetch batches",
     .aliases = {"num_workers", "dataloader_num_workers", "n_workers"},
     .range = between(0, 256)},
    workers);
  f({.name = "sampler_seed",
     .doc = "seed of the sample order; epoch e uses sampler_seed + e",
     .aliases = {"data_seed"},
     .range = at_least(0)},
    sampler_seed);
  f({.name = "stream", .doc = "read the data block by block while training, instead of all of them before"}, stream);
  f({.name = "window", .doc = "blocks of a stream from whose rows the next one is drawn", .range = between(1, 10'000)},
    window);
  f({.name = "cache", .doc = "most bytes that objects of URLs take in the cache folder", .form = kBytesForm}, cache);
  f({.name = "retries",
     .doc = "attempts after the first, for each request to a server of objects",
     .range = between(0, 100)},
    retries);
}

std::int64_t Loader::cache_bytes() const { return *parse_bytes(cache); }

std::optional<std::int64_t> steps_in(const std::string& text) {
  std::int64_t steps = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  const std::string_view unit(rest, text.data() + text.size() - rest);
  if (error != std::errc{} || steps < 1 || steps > kMost || (unit != " steps" && unit != " step")) return {};
  return steps;
}

std::optional<std::int64_t> Checkpoint::newest_to_keep() const {
  return ladder.value_or(false) ? std::nullopt : std::optional(keep_last.value_or(kKeepLast));
}

void Checkpoint::fields(Fields& f) {
  f({.name = "save_every",
     .doc = "epochs between saves, the first after epoch 0; 0: save only at the end",
     .aliases = {"save_interval", "every_n_epochs"},
     .range = between(0, kMost)},
    save_every);
  f({.name = "save_every_steps",
     .doc = "steps between additional saves",
     .aliases = {"save_steps", "every_n_train_steps"},
     .range = between(1, kMost)},
    save_every_steps);
  f({.name = "save_every_minutes",
     .doc = "minutes since the last save after which to save again; only the newest such save is kept; 0: none",
     .range = between(0, kMost)},
    save_every_minutes);
  f({.name = "keep_last",
     .doc =
         "number of newest checkpoints to keep, of the saves by save_every, save_every_steps and the end; default: 2",
     .aliases = {"save_total_limit"},
     .range = between(1, kMost)},
    keep_last);
  f({.name = "ladder",
     .doc = "in place of keep_last: keep checkpoints of the whole run, the fewer the older: at each distance from the "
            "newest one to twice that distance one or two"},
    ladder);
  f({.name = "keep_best",
     .doc = "number of best checkpoints to keep, by metric; an improving validation saves; 0: neither",
     .aliases = {"save_top_k"},
     .range = between(0, kMost)},
    keep_best);
  f({.name = "mirror",
     .doc = "a folder or a URL (s3, gs, abfs) to which NAME/RUN-ID with the checkpoints is copied while the run trains",
     .path = true,
     .urls = true,
     .is_made = true},
    mirror);
  f({.name = "metric",
     .doc = "metric of the best checkpoint; a lower loss is better, each metric defines its own direction",
     .aliases = {"metric_for_best_model"},
     .choices = {""},
     .names_kind = "metric"},
    metric);
  f(goal_option("goal of the metric; default: its own direction"), goal);
  f({.name = "rehearse", .doc = "test a save before training: save, wait, load on every rank, delete after one step"},
    rehearse);
  f({.name = "initial_weights",
     .doc =
         "keep the weights of an exported model's file too, once for all runs of a results folder, so that reproduce "
         "needs no other file"},
    initial_weights);
}

void Clip::fields(Fields& f) {
  f({.name = "norm",
     .doc = "maximum 2-norm of all gradients together, as in clip_grad_norm_; 0: no limit",
     .aliases = {"grad_clip", "clip_norm", "max_norm", "clip_grad_norm", "max_grad_norm", "gradient_clip_val"},
     .range = at_least(0)},
    norm);
  f({.name = "value",
     .doc = "maximum absolute value of each gradient element, as in clip_grad_value_; 0: no limit",
     .aliases = {"clip_value", "clip_grad_value"},
     .range = at_least(0)},
    value);
}

void Ema::fields(Fields& f) {
  f({.name = "decay",
     .doc = "weight of the old average in each update (default 0.999)",
     .aliases = {"ema_decay", "beta", "momentum"},
     .range = between(0, 1)},
    decay);
  f({.name = "every",
     .doc = "steps between updates (default 1); 0: no average",
     .aliases = {"update_every"},
     .range = between(0, kMost)},
    every);
}

void InitFrom::fields(Fields& f) {
  f({.name = "path",
     .doc = "a .safetensors file, a checkpoint, or a run (its latest checkpoint)",
     .path = true,
     .names_run = true},
    path);
  f({.name = "skip",
     .doc = "patterns of tensor names to leave as initialized, such as fc.*",
     .aliases = {"exclude", "ignore"}},
    skip);
  f({.name = "rename",
     .doc = "prefixes of tensor names in the file and their replacements: { \"module.\" = \"\" }",
     .types = {Type::table}},
    rename);
}

void Stop::fields(Fields& f) {
  f({.name = "metric",
     .doc = "metric that patience watches; default: checkpoint.metric",
     .aliases = {"monitor"},
     .choices = {""},
     .names_kind = "metric"},
    metric);
  f(goal_option("goal of the metric; default: its own direction, or else checkpoint.goal"), goal);
  f({.name = "patience",
     .doc = "consecutive validations without improvement after which the run ends; 0: no limit",
     .aliases = {"early_stopping_patience"},
     .range = between(0, kMost)},
    patience);
  f({.name = "min_delta", .doc = "an improvement must exceed this", .range = between(0, kMost)}, min_delta);
  f({.name = "max_time",
     .doc = "training time after which the run ends, summed over all resumes: \"2h30m\"",
     .form = kTimeSpanForm},
    max_time);
}

std::optional<double> Stop::seconds() const {
  const auto span = read_time_span(max_time);
  return span ? std::optional(static_cast<double>(*span)) : std::nullopt;
}

void Log::fields(Fields& f) {
  f({.name = "every",
     .doc = "steps between lines of metrics.jsonl",
     .aliases = {"log_every", "logging_steps", "log_interval", "log_every_n_steps"},
     .range = between(1, kMost)},
    every);
  f({.name = "tensorboard",
     .doc = "also write TensorBoard event files, to the run's folder tensorboard/",
     .aliases = {"report_to", "wandb_log", "logger"}},
    tensorboard);
}

void Notify::fields(Fields& f) {
  f({.name = "command",
     .doc = "for /bin/sh; its environment has DDP_RUN, DDP_NAME, DDP_STATUS, DDP_REASON",
     .form = kCommandForm},
    command);
}

void Experiment::fields(Fields& f) {
  f({.name = "name",
     .doc = "folder under results/; default: the file's name without .toml",
     .aliases = {"experiment_name", "exp_name", "run_name"}},
    name);
  f({.name = "seed",
     .doc = "seed of weights, data and dropout",
     .aliases = {"random_seed", "manual_seed", "random_state", "seed_everything"},
     .range = at_least(0)},
    seed);
  f({.name = "threads", .doc = "CPU threads per rank; default: cores / ranks", .range = between(1, 4096)}, threads);
  f({.name = "sources", .doc = "C++ files that define your own models, datasets and other components", .path = true},
    sources);
  f({.name = "deterministic",
     .doc = "use deterministic cuDNN kernels, without benchmarking",
     .aliases = {"cudnn_deterministic"}},
    deterministic);
  f({.name = "flush_denormal", .doc = "flush numbers below 1e-38 to 0 on CPUs, as torch.set_flush_denormal does"},
    flush_denormal);
  f({.name = "model",
     .doc = "model to train",
     .aliases = {"arch", "network", "backbone"},
     .required = true,
     .component_kind = "model"},
    model);
  f({.name = "dataset",
     .doc = "data to train on",
     .aliases = {"data", "datamodule"},
     .required = true,
     .component_kind = "dataset"},
    dataset);
  f({.name = "loss",
     .doc = "loss; default: the one for the dataset's targets",
     .aliases = {"criterion", "loss_fn", "objective"},
     .component_kind = "loss"},
    loss);
  f({.name = "metrics",
     .doc = "metrics of validation and test besides the loss; default: accuracy, for classes",
     .aliases = {"metric"},
     .names_kind = "measure",
     .types = {Type::list},
     .item = Type::text},
    metrics);
  f({.name = "optimizer",
     .doc = "algorithm that updates the weights",
     .aliases = {"optim", "opt"},
     .component_kind = "optimizer"},
    optimizer);
  f({.name = "scheduler",
     .doc = "schedule of the learning rate",
     .aliases = {"lr_scheduler", "lr_schedule", "lr_scheduler_type", "sched"},
     .component_kind = "scheduler"},
    scheduler);
  f({.name = "epochs",
     .doc = "passes over the dataset (default 1); or give steps",
     .aliases = {"max_epochs", "num_epochs", "n_epochs", "num_train_epochs"},
     .range = between(1, kMost)},
    epochs);
  f({.name = "steps",
     .doc = "total optimizer steps; or give epochs",
     .aliases = {"max_steps", "num_steps", "total_steps", "train_steps", "max_iters", "iterations"},
     .range = between(1, kMost)},
    steps);
  f({.name = "batch_size",
     .doc = "samples per rank and micro-batch (default 32)",
     .aliases = {"train_batch_size", "per_device_train_batch_size", "micro_batch_size"},
     .range = between(1, kMost)},
    batch_size);
  f({.name = "global_batch_size",
     .doc = "samples per step: batch_size x ranks x accumulate",
     .aliases = {"total_batch_size", "effective_batch_size"},
     .range = between(1, kMost)},
    global_batch_size);
  f({.name = "accumulate",
     .doc = "micro-batches per step",
     .aliases = {"grad_accum", "accumulation_steps", "accumulate_grad_batches", "gradient_accumulation_steps"},
     .range = between(1, 1e6)},
    accumulate);
  f({.name = "logical_ranks",
     .doc = "the number of ranks that defines the training, a power of two: any number of ranks that divides it trains "
            "the same bits; batch_size is of a logical rank (default: the number of ranks)",
     .range = between(1, 1 << 12)},
    logical_ranks);
  f({.name = "precision",
     .doc = "precision of forward and loss: fp32, or bf16 or fp16 with torch.autocast's casts; weights stay float32",
     .aliases = {"amp", "mixed_precision", "dtype", "bf16", "fp16"},
     .choices = {"fp32", "bf16", "fp16"}},
    precision);
  f({.name = "tf32",
     .doc = "let matrix products and convolutions on GPUs use TF32 (default, as in PyTorch: only convolutions)",
     .aliases = {"allow_tf32"}},
    tf32);
  f({.name = "channels_last", .doc = "use this memory format for images and convolution weights"}, channels_last);
  f.section({.name = "clip", .doc = "gradient clipping, by norm or by value", .aliases = {"gradient_clipping"}}, clip);
  f.section({.name = "ema",
             .doc = "exponential moving average of the weights, for validation, test and prediction",
             .aliases = {"use_ema", "model_ema"}},
            ema);
  f({.name = "freeze",
     .doc = "patterns of names of parameters to exclude from training, such as layer1.*",
     .aliases = {"freeze_layers"}},
    freeze);
  f({.name = "groups",
     .doc = "parameter groups with their own optimizer options; a parameter belongs to the first group that matches",
     .aliases = {"param_groups"},
     .types = {Type::list},
     .item_keys = describe<ParameterGroup>()},
    groups);
  f({.name = "on_nan",
     .doc = "action on a non-finite loss: stop fails the run before the weights change; skip omits that step's update",
     .choices = {"stop", "skip"}},
    on_nan);
  f({.name = "replay",
     .doc = "training steps without the autograd engine, with the same bits: auto where a step is static; require ends "
            "the run where it is not",
     .choices = {"auto", "off", "require"}},
    replay);
  f({.name = "device_pool",
     .doc = "\"auto\", a number of ranks, or a list with one entry per rank: GPU indices, \"cpu\", or groups of "
            "them",
     .aliases = {"gpus", "devices", "device", "accelerator", "num_gpus", "nproc", "world_size", "num_processes",
                 "gpu_ids"},
     .types = {Type::text, Type::integer, Type::list}},
    device_pool);
  f({.name = "devices_per_rank", .doc = "number of devices in each rank's group (default 1)", .range = between(1, 64)},
    devices_per_rank);
  f({.name = "parallel",
     .doc = "how ranks share the work: ddp: a process per rank; data_parallel: one process that splits each batch over "
            "the pool; single: one process without splitting",
     .aliases = {"strategy", "fsdp"},
     .names_kind = "parallel"},
    parallel);
  f({.name = "grace", .doc = "seconds for saving and ending after a request to stop", .range = up_to(1e7)}, grace);
  f.section({.name = "init_from",
             .doc = "source of the initial weights; default: random, from the seed",
             .aliases = {"pretrained", "pretrained_weights", "ckpt_path"}},
            init_from);
  f.section({.name = "distributed", .doc = "communication between ranks"}, distributed);
  f.section({.name = "loader", .doc = "sampling and batching"}, loader);
  f.section({.name = "validation",
             .doc = "data and timing of validation during training",
             .aliases = {"eval", "dev", "val", "holdout"}},
            validation);
  f.section({.name = "test", .doc = "data of the test after training"}, test);
  f.section({.name = "folds", .doc = "folds of a cross-validation", .aliases = {"cv", "kfold"}}, folds);
  f.section({.name = "repeat", .doc = "seeds of a cross-validation"}, repeat);
  if (f.reads()) validation.is_of_folds = folds.fold.has_value();
  f.section({.name = "checkpoint", .doc = "when to save, and which checkpoints to keep", .aliases = {"checkpointing"}},
            checkpoint);
  f.section({.name = "decide", .doc = "how probabilities become the answers of predict", .aliases = {"decision"}},
            decide);
  f.section({.name = "stop", .doc = "conditions that end the run before its last step", .aliases = {"early_stopping"}},
            stop);
  f.section({.name = "log", .doc = "logging of the run"}, log);
  f.section({.name = "notify", .doc = "what runs once at the end of a run or a sweep, whatever the end"}, notify);
}

Experiment comparable(Experiment experiment) {
  experiment.notify = {};
  experiment.checkpoint.mirror.clear();
  for (const auto& [section, data] : datasets_of(experiment)) {
    data->options = without_queries(std::move(data->options));
  }
  return experiment;
}

std::vector<std::string> Experiment::metric_names() const {
  if (metrics.is_null()) return {kDefaultMeasure};
  std::vector<std::string> names;
  for (const Value& item : metrics) {
    const auto listed = item.get<std::string>();
    if (std::find(names.begin(), names.end(), listed) == names.end()) names.push_back(listed);
  }
  return names;
}

Metric Experiment::best_metric() const {
  const std::string by_default = validation.exists() ? "val_loss" : "train_loss";
  return {.name = checkpoint.metric.empty() ? by_default : checkpoint.metric, .direction = direction_};
}

Metric Experiment::metric_named(const std::string& in_events, const std::string& goal) const {
  if (in_events.empty() && goal.empty()) return best_metric();
  const std::string chosen = in_events.empty() ? best_metric().name : in_events;
  const bool says_it = !goal.empty() || has_direction(chosen, components());
  return {.name = chosen, .direction = direction_for(says_it ? goal : checkpoint.goal, chosen, components())};
}

bool Experiment::weighs_samples() const {
  const auto given = dataset.options.find("weights");
  return given != dataset.options.end() && *given != "" && loader.sample != "weighted";
}

bool Experiment::syncs_batch_norm() const { return read<SyncBatchNorm>(model.options).sync_batch_norm.value_or(false); }

std::int64_t Experiment::ignored_target() const {
  const auto given = loss.options.find("ignore_index");
  return given != loss.options.end() && given->is_number_integer() ? given->get<std::int64_t>() : kIgnoredByDefault;
}

Components Experiment::components() const { return components_ ? *components_ : Components::installed(); }

void Experiment::resolve(const Components& components) {
  components_ = components;
  direction_ = direction_for(checkpoint.goal, best_metric().name, components);
}

Transport Experiment::transport() const {
  const Components known = components();
  const Spec* backend = known.find("backend", distributed.backend);
  return backend == nullptr ? Transport() : transport_of(backend->traits);
}

bool Condition::holds(std::int64_t dimensions) const {
  if (comparison == "<") return dimensions < ndim;
  if (comparison == "<=") return dimensions <= ndim;
  if (comparison == ">") return dimensions > ndim;
  if (comparison == ">=") return dimensions >= ndim;
  return dimensions == ndim;
}

bool Condition::can_hold() const {
  if (comparison == "<") return ndim > 0;
  return comparison == ">" || comparison == ">=" || ndim >= 0;
}

bool is_condition(const std::string& text) {
  return text.starts_with(kNdim) && text.size() > kNdim.size() &&
         std::string_view("<>=! ").find(text[kNdim.size()]) != std::string_view::npos;
}

std::optional<Condition> condition_of(const std::string& text) {
  std::string rest = text.substr(std::min(text.size(), kNdim.size()));
  std::erase(rest, ' ');
  for (const std::string_view comparison : kComparisons) {
    if (!is_condition(text) || !rest.starts_with(comparison)) continue;
    Condition condition{.comparison = std::string(comparison)};
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + comparison.size(), end, condition.ndim);
    if (error != std::errc{} || stop != end) return {};
    return condition;
  }
  return {};
}

std::vector<std::string> ParameterGroup::patterns() const {
  if (match.is_null()) return {};
  if (match.is_string()) return {match.get<std::string>()};
  return match.get<std::vector<std::string>>();
}

void ParameterGroup::fields(Fields& f) {
  f({.name = "match",
     .doc = "a pattern of parameter names such as *.bias, a condition such as ndim<2, or a list of both",
     .required = true,
     .types = {Type::text, Type::list},
     .item = Type::text},
    match);
  f({.name = "lr_scale", .doc = "factor of the learning rate in each step", .aliases = {"lr"}, .range = at_least(0)},
    lr_scale);
  f({.name = "optimizer", .doc = "an optimizer for this group alone, with its own options, lr among them"}, optimizer);
}

void LayerDecay::fields(Fields& f) {
  f({.name = "layer_decay",
     .doc = "factor of lr from each of the layers to the one before it; the last one has lr",
     .aliases = {"layer_lr_decay", "layerwise_lr_decay", "llrd"},
     .range = up_to(1)},
    layer_decay);
  f({.name = "layers",
     .doc = "beginnings of the parameters' names, the first layer first; blocks.* is a layer for each number, a|b is "
            "one layer"},
    layers);
}

void SyncBatchNorm::fields(Fields& f) {
  f({.name = "sync_batch_norm",
     .doc = "training: batch norms take their statistics from the batches of all ranks, as torch.nn.SyncBatchNorm"},
    sync_batch_norm);
}

std::vector<Option> options_of_group(const Spec& optimizer) {
  const std::vector<Option>& of_layers = describe<LayerDecay>();
  std::vector<Option> options;
  for (Option option : optimizer.options) {
    const auto same = [&](const Option& other) { return other.name == option.name; };
    if (std::any_of(of_layers.begin(), of_layers.end(), same)) continue;
    option.default_value = {};
    option.required = false;
    options.push_back(std::move(option));
  }
  return options;
}

std::vector<ParameterGroup> parameter_groups(const Experiment& experiment) {
  std::vector<ParameterGroup> groups;
  for (const Value& table : experiment.groups) {
    groups.push_back(read<ParameterGroup>(table));
    for (const auto& [key, value] : table.items()) {
      if (key != "match" && key != "lr_scale" && key != "optimizer") groups.back().options[key] = value;
    }
  }
  return groups;
}

void supply_group_keys(std::vector<Option>& options, const Components& components, const std::string& optimizer) {
  const auto groups = std::find_if(options.begin(), options.end(), [](const Option& o) { return o.name == "groups"; });
  if (groups == options.end()) return;
  groups->item_kind = "optimizer";
  groups->item_component = optimizer;
  std::vector<Option>& keys = groups->item_keys;
  for (const auto& [name, spec] : components.of("optimizer")) {
    if (!optimizer.empty() && name != optimizer) continue;
    for (Option& option : options_of_group(spec)) {
      const bool is_known =
          std::any_of(keys.begin(), keys.end(), [&](const Option& o) { return o.name == option.name; });
      // `lr` is a key of groups with an optimizer of their own, whose keys the check of a group knows.
      if ((option.name == "lr" && !optimizer.empty()) || is_known) continue;
      keys.push_back(std::move(option));
    }
  }
}

}  // namespace ddp::config
