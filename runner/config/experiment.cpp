#include "config/experiment.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "config/groups.h"
#include "config/option/text_form.h"
#include "config/time_span.h"

namespace ddp::config {
namespace {

// No run is longer or wider; products of these stay within 64 bits.
constexpr double kMost = 1e9;

}  // namespace

void Distributed::fields(Fields& f) {
  f({.name = "backend",
     .doc =
         "who carries the gradients; auto: nccl between GPUs, shm between CPU ranks that one command forks, else gloo",
     .choices = {"auto", "gloo", "nccl", "shm"}},
    backend);
  f({.name = "init_method",
     .doc = "where ranks meet: env:// (where the launcher says), tcp://host:port or file:///path"},
    init_method);
  f({.name = "timeout", .doc = "seconds a collective waits for the slowest rank", .range = up_to(1e7)}, timeout);
  f({.name = "bucket_cap_mb", .doc = "size of a gradient bucket in MiB (DDP: 25)", .range = up_to(1e6)}, bucket_cap_mb);
  f({.name = "find_unused_parameters", .doc = "parameters may stay without a gradient in a step"},
    find_unused_parameters);
  f({.name = "static_graph", .doc = "every step uses the same parameters"}, static_graph);
  f({.name = "gradient_as_bucket_view",
     .doc = "gradients are views into the buckets, unless false: less memory and a copy less, the same numbers"},
    gradient_as_bucket_view);
  f({.name = "broadcast_buffers", .doc = "rank 0's buffers go to every rank before a forward"}, broadcast_buffers);
}

void Loader::fields(Fields& f) {
  f({.name = "shuffle", .doc = "a new order in every epoch"}, shuffle);
  f({.name = "drop_last", .doc = "drop the samples that do not divide over the ranks, instead of repeating some"},
    drop_last);
  f({.name = "drop_last_batch", .doc = "drop the last batch of an epoch on each rank where it is not whole"},
    drop_last_batch);
  f({.name = "workers", .doc = "threads a rank that fetch batches ahead of training", .range = between(0, 256)},
    workers);
  f({.name = "sampler_seed", .doc = "the order in epoch e is drawn from sampler_seed + e", .range = at_least(0)},
    sampler_seed);
}

namespace {

void add_share(Fields& f, HeldOut& h) {
  f({.name = "dataset",
     .doc = "data of their own, in place of split: the keys that replace those of [dataset]",
     .component_kind = "dataset"},
    h.dataset);
  f({.name = "split", .doc = "the share of the dataset that is held out", .range = from_below(0, 1)}, h.split);
  f({.name = "stratify", .doc = "the share holds in each class"}, h.stratify);
  f({.name = "by", .doc = "rows with an equal value in this column are held out together"}, h.by);
}

void add_batch_size(Fields& f, HeldOut& h) {
  f({.name = "batch_size",
     .doc = "samples of a batch; default: batch_size of the run's start",
     .range = between(1, kMost)},
    h.batch_size);
}

}  // namespace

void Validation::fields(Fields& f) {
  add_share(f, *this);
  f({.name = "seed", .doc = "which samples are held out, for a test too", .range = at_least(0)}, seed);
  f({.name = "every",
     .doc = "epochs from one validation to the next, or steps: \"250 steps\"",
     .range = between(1, kMost),
     .types = {Type::integer, Type::text}},
    every);
  add_batch_size(f, *this);
}

Period Validation::period() const {
  if (every.is_number_integer()) return {.epochs = every.get<std::int64_t>()};
  return {.steps = steps_in(every.get<std::string>()).value_or(1)};
}

void Test::fields(Fields& f) {
  add_share(f, *this);
  add_batch_size(f, *this);
}

std::optional<std::int64_t> steps_in(const std::string& text) {
  std::int64_t steps = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  const std::string_view unit(rest, text.data() + text.size() - rest);
  if (error != std::errc{} || steps < 1 || steps > kMost || (unit != " steps" && unit != " step")) return {};
  return steps;
}

void Checkpoint::fields(Fields& f) {
  f({.name = "save_every",
     .doc = "save after each epoch e with e % save_every == 0; 0: at the end only",
     .range = between(0, kMost)},
    save_every);
  f({.name = "save_every_steps", .doc = "also save after every so many steps", .range = between(1, kMost)},
    save_every_steps);
  f({.name = "save_every_minutes",
     .doc = "also save when so many minutes have passed since the last save; the newest of these stays; 0: never",
     .range = between(0, kMost)},
    save_every_minutes);
  f({.name = "keep_last",
     .doc = "the newest so many checkpoints stay, of those that save_every, save_every_steps and the end save",
     .range = between(1, kMost)},
    keep_last);
  f({.name = "keep_best",
     .doc = "the best so many checkpoints by metric stay, and a validation that improves it saves; 0: neither",
     .range = between(0, kMost)},
    keep_best);
  f({.name = "metric",
     .doc = "what best means; a loss is better when it is less, a metric as it says itself",
     .choices = {""},
     .names_kind = "metric"},
    metric);
  f({.name = "rehearse", .doc = "before training: save, wait, load on every rank, and delete it after one step"},
    rehearse);
}

void Clip::fields(Fields& f) {
  f({.name = "norm",
     .doc = "the most that the 2-norm of all gradients together may be, as by clip_grad_norm_; 0: no limit",
     .range = at_least(0)},
    norm);
  f({.name = "value",
     .doc = "the most that each number of a gradient may be, as by clip_grad_value_; 0: no limit",
     .range = at_least(0)},
    value);
}

void Ema::fields(Fields& f) {
  f({.name = "decay",
     .doc = "the share of the average that stays in an update (default 0.999)",
     .range = between(0, 1)},
    decay);
  f({.name = "every",
     .doc = "steps from one update to the next (default 1); 0: no average",
     .range = between(0, kMost)},
    every);
}

void InitFrom::fields(Fields& f) {
  f({.name = "path",
     .doc = "a .safetensors file, a checkpoint, or a run: its latest checkpoint",
     .path = true,
     .names_run = true},
    path);
  f({.name = "skip", .doc = "patterns of names, such as fc.*: these stay as the seed drew them"}, skip);
  f({.name = "rename",
     .doc = "prefixes of names in the file, and what stands in their place: { \"module.\" = \"\" }",
     .types = {Type::table}},
    rename);
}

void Stop::fields(Fields& f) {
  f({.name = "metric",
     .doc = "the metric that patience watches; default: that of checkpoint",
     .choices = {""},
     .names_kind = "metric"},
    metric);
  f({.name = "patience",
     .doc = "the run ends after so many validations in a row without an improvement; 0: it does not",
     .range = between(0, kMost)},
    patience);
  f({.name = "min_delta", .doc = "an improvement is more than this", .range = between(0, kMost)}, min_delta);
  f({.name = "max_time",
     .doc = "the run ends when it has trained for so long, over all resumes: \"2h30m\"",
     .form = kTimeSpanForm},
    max_time);
}

std::optional<double> Stop::seconds() const {
  const auto span = read_time_span(max_time);
  return span ? std::optional(static_cast<double>(*span)) : std::nullopt;
}

void Log::fields(Fields& f) {
  f({.name = "every", .doc = "steps from one line of metrics.jsonl to the next", .range = between(1, kMost)}, every);
  f({.name = "tensorboard", .doc = "write TensorBoard event files too, into the run's folder tensorboard/"},
    tensorboard);
}

void Experiment::fields(Fields& f) {
  f({.name = "name", .doc = "the folder under results/; default: the file's name without .toml"}, name);
  f({.name = "seed", .doc = "of weights, data and dropout", .range = at_least(0)}, seed);
  f({.name = "threads", .doc = "CPU threads a rank; default: cores / ranks", .range = between(1, 4096)}, threads);
  f({.name = "sources", .doc = "files of C++ with models, datasets and other components of your own", .path = true},
    sources);
  f({.name = "deterministic", .doc = "cuDNN: deterministic kernels, no benchmark"}, deterministic);
  f({.name = "flush_denormal", .doc = "CPU: numbers below 1e-38 are 0, as by torch.set_flush_denormal"},
    flush_denormal);
  f({.name = "model", .doc = "what is trained", .required = true, .component_kind = "model"}, model);
  f({.name = "dataset", .doc = "what it is trained on", .required = true, .component_kind = "dataset"}, dataset);
  f({.name = "loss", .doc = "default: what fits the dataset's targets", .component_kind = "loss"}, loss);
  f({.name = "metrics",
     .doc = "what validation and test measure beside the loss; default: accuracy, of classes",
     .names_kind = "measure",
     .types = {Type::list},
     .item = Type::text},
    metrics);
  f({.name = "optimizer", .doc = "how weights follow gradients", .component_kind = "optimizer"}, optimizer);
  f({.name = "scheduler", .doc = "how the learning rate changes", .component_kind = "scheduler"}, scheduler);
  f({.name = "epochs", .doc = "passes over the dataset (default 1); or give steps", .range = between(1, kMost)},
    epochs);
  f({.name = "steps", .doc = "optimizer steps in all; or give epochs", .range = between(1, kMost)}, steps);
  f({.name = "batch_size", .doc = "samples a rank and micro-batch (default 32)", .range = between(1, kMost)},
    batch_size);
  f({.name = "global_batch_size", .doc = "samples a step: batch_size x ranks x accumulate", .range = between(1, kMost)},
    global_batch_size);
  f({.name = "accumulate", .doc = "micro-batches a step", .range = between(1, 1e6)}, accumulate);
  f({.name = "precision",
     .doc = "of forward and loss: fp32, or torch.autocast's casts to bf16 or fp16; weights stay float32",
     .choices = {"fp32", "bf16", "fp16"}},
    precision);
  f({.name = "tf32",
     .doc = "GPUs: matrix products and convolutions may round to TF32 (default: convolutions alone, as torch does)"},
    tf32);
  f({.name = "channels_last", .doc = "images and the weights of convolutions lie in that memory format"},
    channels_last);
  f.section({.name = "clip", .doc = "the limit of gradients: norm or value"}, clip);
  f.section({.name = "ema", .doc = "an average of the weights over the steps, to validate, test and predict with"},
            ema);
  f({.name = "freeze", .doc = "patterns of names of parameters that stay as they begin, such as layer1.*"}, freeze);
  f({.name = "groups",
     .doc = "groups of parameters with options of the optimizer of their own; the first that matches takes a parameter",
     .types = {Type::list},
     .item_keys = describe<ParameterGroup>()},
    groups);
  f({.name = "on_nan",
     .doc =
         "a loss that is not finite: stop fails the run before the weights change; skip leaves that step's update out",
     .choices = {"stop", "skip"}},
    on_nan);
  f({.name = "device_pool",
     .doc = "\"auto\", a number of ranks, or a list with an entry a rank: GPU indices, \"cpu\", or groups of "
            "them",
     .types = {Type::text, Type::integer, Type::list}},
    device_pool);
  f({.name = "devices_per_rank", .doc = "devices of each rank's group (default 1)", .range = between(1, 64)},
    devices_per_rank);
  f({.name = "parallel",
     .doc = "how ranks share the work: ddp: one process a rank; data_parallel: one process that splits each batch over "
            "the pool; single: one process without either",
     .names_kind = "parallel"},
    parallel);
  f({.name = "grace", .doc = "seconds a run that is asked to stop has to save and end", .range = up_to(1e7)}, grace);
  f.section({.name = "init_from", .doc = "where the first weights come from; without it the seed draws them"},
            init_from);
  f.section({.name = "distributed", .doc = "how ranks talk"}, distributed);
  f.section({.name = "loader", .doc = "how samples become batches"}, loader);
  f.section({.name = "validation", .doc = "data to measure on during training"}, validation);
  f.section({.name = "test", .doc = "data to measure on once, at the end"}, test);
  f.section({.name = "checkpoint", .doc = "what is saved, and when"}, checkpoint);
  f.section({.name = "stop", .doc = "when the run ends before its last step"}, stop);
  f.section({.name = "log", .doc = "what is written down"}, log);
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

Metric Experiment::metric_named(const std::string& in_events) const {
  if (in_events.empty()) return best_metric();
  return {.name = in_events, .direction = direction_of(in_events, components())};
}

std::int64_t Experiment::ignored_target() const {
  const auto given = loss.options.find("ignore_index");
  return given != loss.options.end() && given->is_number_integer() ? given->get<std::int64_t>() : kIgnoredByDefault;
}

Components Experiment::components() const { return components_ ? *components_ : Components::installed(); }

void Experiment::resolve(const Components& components) {
  components_ = components;
  direction_ = direction_of(best_metric().name, components);
}

}  // namespace ddp::config
