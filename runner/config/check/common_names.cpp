#include "config/check/common_names.h"

#include <algorithm>
#include <cctype>

namespace ddp::config {
namespace {

constexpr const char* kPrecision = "precision = \"bf16\" or \"fp16\" trains in half precision";
constexpr const char* kTensorBoard =
    "this logger is not supported: log.tensorboard writes event files, and every run has metrics.jsonl";
constexpr const char* kSharding = "models are not sharded: the key parallel chooses how ranks share the work";
constexpr const char* kResults = "the command line sets the results folder: `ddp-exp run FILE --results FOLDER`";
constexpr const char* kResume = "the command `ddp-exp resume RUN` continues a run; init_from takes only its weights";
constexpr const char* kSteps = "A number alone counts epochs, and every = \"100 steps\" counts steps";
constexpr const char* kWarmup = "It takes steps, such as 100, epochs as \"2 epochs\", or a share of the run as \"10%\"";
constexpr const char* kBetas = "write betas = [0.9, 0.999] in the optimizer's table";
constexpr const char* kCosine = "no such key: scheduler = \"cosine\" lowers lr over the whole run";
constexpr const char* kSweep =
    "a sweep is a table with the keys to vary: [sweep.parameters] and, below it, \"optimizer.lr\" = [0.1, 0.01]";
constexpr const char* kExtends = "did you mean \"extends\"? It takes the name of one file to build on";
constexpr const char* kNodes =
    "the command line starts a run on several machines: `ddp-exp run FILE --nnodes 2 --node-rank 0 --master-addr HOST` "
    "on the first one, and with --node-rank 1 on the second";
constexpr const char* kTop = "the keys of training belong at the top of the file, outside all sections";

constexpr CommonName kCommonNames[] = {
    // length
    {.name = "max_epochs", .key = "epochs"},
    {.name = "num_epochs", .key = "epochs"},
    {.name = "n_epochs", .key = "epochs"},
    {.name = "num_train_epochs", .key = "epochs"},
    {.name = "max_steps", .key = "steps"},
    {.name = "num_steps", .key = "steps"},
    {.name = "total_steps", .key = "steps"},
    {.name = "train_steps", .key = "steps"},
    {.name = "max_iters", .key = "steps"},
    {.name = "num_iterations", .key = "steps"},
    {.name = "iterations", .key = "steps"},
    // stop
    {.name = "patience", .key = "stop.patience"},
    {.name = "early_stopping", .key = "stop.patience"},
    {.name = "early_stop", .key = "stop.patience"},
    {.name = "early_stopping_patience", .key = "stop.patience"},
    // precision
    {.name = "amp", .key = "precision", .words = kPrecision},
    {.name = "use_amp", .key = "precision", .words = kPrecision},
    {.name = "fp16", .key = "precision", .words = kPrecision},
    {.name = "float16", .key = "precision", .words = kPrecision},
    {.name = "half", .key = "precision", .words = kPrecision},
    {.name = "bf16", .key = "precision", .words = kPrecision},
    {.name = "bfloat16", .key = "precision", .words = kPrecision},
    {.name = "mixed_precision", .key = "precision", .words = kPrecision},
    {.name = "autocast", .key = "precision", .words = kPrecision},
    {.name = "allow_tf32", .key = "tf32"},
    // optimizer and schedule
    {.name = "optim", .key = "optimizer"},
    {.name = "learning_rate", .key = "optimizer.lr"},
    {.name = "base_lr", .key = "optimizer.lr"},
    {.name = "init_lr", .key = "optimizer.lr"},
    {.name = "max_lr", .key = "optimizer.lr"},
    {.name = "wd", .key = "optimizer.weight_decay"},
    {.name = "lr_scheduler", .key = "scheduler"},
    {.name = "lr_schedule", .key = "scheduler"},
    {.name = "num_warmup_steps", .key = "scheduler.warmup"},
    {.name = "warmup_epochs", .key = "scheduler.warmup", .words = kWarmup},
    {.name = "warmup_ratio", .key = "scheduler.warmup", .words = kWarmup},
    {.name = "grad_clip", .key = "clip.norm"},
    {.name = "clip_norm", .key = "clip.norm"},
    {.name = "clip_grad", .key = "clip.norm"},
    {.name = "clip_grad_norm", .key = "clip.norm"},
    {.name = "max_grad_norm", .key = "clip.norm"},
    {.name = "max_norm", .key = "clip.norm"},
    {.name = "gradient_clip_val", .key = "clip.norm"},
    {.name = "gradient_clipping", .key = "clip.norm"},
    {.name = "clip_value", .key = "clip.value"},
    {.name = "clip_grad_value", .key = "clip.value"},
    {.name = "ema_decay", .key = "ema.decay"},
    {.name = "use_ema", .key = "ema.decay"},
    {.name = "param_groups", .key = "groups"},
    {.name = "grad_accum", .key = "accumulate"},
    {.name = "accumulation_steps", .key = "accumulate"},
    {.name = "grad_accum_steps", .key = "accumulate"},
    {.name = "accumulate_grad_batches", .key = "accumulate"},
    {.name = "gradient_accumulation_steps", .key = "accumulate"},
    // data
    {.name = "data", .key = "dataset"},
    {.name = "path", .key = "dataset.path"},
    {.name = "file", .key = "dataset.path"},
    {.name = "filename", .key = "dataset.path"},
    {.name = "sep", .key = "dataset.delimiter"},
    {.name = "separator", .key = "dataset.delimiter"},
    {.name = "label", .key = "dataset.target"},
    {.name = "labels", .key = "dataset.target"},
    {.name = "label_column", .key = "dataset.target"},
    {.name = "target_column", .key = "dataset.target"},
    {.name = "usecols", .key = "dataset.features"},
    {.name = "feature_columns", .key = "dataset.features"},
    {.name = "drop_columns", .key = "dataset.drop"},
    {.name = "cat_features", .key = "dataset.categories"},
    {.name = "cat_cols", .key = "dataset.categories"},
    {.name = "categorical", .key = "dataset.categories"},
    {.name = "categorical_features", .key = "dataset.categories"},
    {.name = "categorical_columns", .key = "dataset.categories"},
    {.name = "normalize", .key = "dataset.normalise"},
    {.name = "standardize", .key = "dataset.normalise"},
    {.name = "scaler", .key = "dataset.normalise"},
    {.name = "data_path", .key = "dataset.path"},
    {.name = "data_dir", .key = "dataset.path"},
    {.name = "val_split", .key = "validation.split"},
    {.name = "valid_split", .key = "validation.split"},
    {.name = "validation_split", .key = "validation.split"},
    {.name = "val_size", .key = "validation.split"},
    {.name = "val_fraction", .key = "validation.split"},
    {.name = "val_ratio", .key = "validation.split"},
    {.name = "eval", .key = "validation"},
    {.name = "dev", .key = "validation"},
    {.name = "holdout", .key = "validation"},
    {.name = "test_split", .key = "test.split"},
    {.name = "test_size", .key = "test.split"},
    {.name = "eval_batch_size", .key = "validation.batch_size"},
    {.name = "val_batch_size", .key = "validation.batch_size"},
    {.name = "val_interval", .key = "validation.every"},
    {.name = "eval_interval", .key = "validation.every", .words = kSteps},
    {.name = "eval_every", .key = "validation.every"},
    {.name = "eval_steps", .key = "validation.every", .words = kSteps},
    {.name = "check_val_every_n_epoch", .key = "validation.every"},
    {.name = "train_batch_size", .key = "batch_size"},
    {.name = "per_device_train_batch_size", .key = "batch_size"},
    {.name = "micro_batch_size", .key = "batch_size"},
    {.name = "total_batch_size", .key = "global_batch_size"},
    {.name = "num_workers", .key = "loader.workers"},
    {.name = "n_workers", .key = "loader.workers"},
    {.name = "dataloader_num_workers", .key = "loader.workers"},
    {.name = "prefetch_factor", .key = "loader.workers"},
    // model and loss
    {.name = "arch", .key = "model"},
    {.name = "architecture", .key = "model"},
    {.name = "network", .key = "model"},
    {.name = "backbone", .key = "model"},
    {.name = "hidden_layer_sizes", .key = "model.hidden"},
    {.name = "hidden_layers", .key = "model.hidden"},
    {.name = "hidden_sizes", .key = "model.hidden"},
    {.name = "hidden_dims", .key = "model.hidden"},
    {.name = "hidden_units", .key = "model.hidden"},
    {.name = "criterion", .key = "loss"},
    {.name = "loss_fn", .key = "loss"},
    {.name = "loss_function", .key = "loss"},
    {.name = "objective", .key = "loss"},
    {.name = "class_weight", .key = "loss.weight"},
    {.name = "class_weights", .key = "loss.weight"},
    {.name = "pretrained", .key = "init_from"},
    {.name = "pretrained_weights", .key = "init_from"},
    {.name = "freeze_layers", .key = "freeze"},
    {.name = "random_seed", .key = "seed"},
    {.name = "manual_seed", .key = "seed"},
    {.name = "random_state", .key = "seed"},
    {.name = "seed_everything", .key = "seed"},
    {.name = "experiment_name", .key = "name"},
    {.name = "exp_name", .key = "name"},
    {.name = "run_name", .key = "name"},
    // devices
    {.name = "gpus", .key = "device_pool"},
    {.name = "gpu", .key = "device_pool"},
    {.name = "gpu_ids", .key = "device_pool"},
    {.name = "num_gpus", .key = "device_pool"},
    {.name = "n_gpus", .key = "device_pool"},
    {.name = "device", .key = "device_pool"},
    {.name = "devices", .key = "device_pool"},
    {.name = "cuda", .key = "device_pool"},
    {.name = "accelerator", .key = "device_pool"},
    {.name = "nproc", .key = "device_pool"},
    {.name = "nproc_per_node", .key = "device_pool"},
    {.name = "world_size", .key = "device_pool"},
    {.name = "num_processes", .key = "device_pool"},
    {.name = "multi_gpu", .key = "device_pool"},
    {.name = "strategy", .key = "parallel"},
    {.name = "distributed_backend", .key = "distributed.backend"},
    {.name = "dist_backend", .key = "distributed.backend"},
    {.name = "dist_url", .key = "distributed.init_method"},
    {.name = "process_group_backend", .key = "distributed.backend"},
    {.name = "cudnn_deterministic", .key = "deterministic"},
    // checkpoints and records
    {.name = "monitor", .key = "checkpoint.metric"},
    {.name = "metric_for_best_model", .key = "checkpoint.metric"},
    {.name = "save_top_k", .key = "checkpoint.keep_best"},
    {.name = "save_total_limit", .key = "checkpoint.keep_last"},
    {.name = "save_steps", .key = "checkpoint.save_every_steps"},
    {.name = "save_interval", .key = "checkpoint.save_every"},
    {.name = "save_freq", .key = "checkpoint.save_every"},
    {.name = "checkpoint_every", .key = "checkpoint.save_every"},
    {.name = "checkpoint_interval", .key = "checkpoint.save_every"},
    {.name = "log_every", .key = "log.every"},
    {.name = "log_interval", .key = "log.every"},
    {.name = "logging_steps", .key = "log.every"},
    {.name = "log_every_n_steps", .key = "log.every"},
    // not supported
    {.name = "wandb", .words = kTensorBoard},
    {.name = "use_wandb", .words = kTensorBoard},
    {.name = "mlflow", .words = kTensorBoard},
    {.name = "logger", .words = kTensorBoard},
    {.name = "fsdp", .words = kSharding},
    {.name = "deepspeed", .words = kSharding},
    {.name = "compile", .words = "models are not compiled"},
    {.name = "torch_compile", .words = "models are not compiled"},
    {.name = "pin_memory", .words = "no such key: loader.workers sets the threads that load batches"},
    {.name = "persistent_workers", .words = "no such key: loader.workers sets the threads that load batches"},
    {.name = "output_dir", .words = kResults},
    {.name = "out_dir", .words = kResults},
    {.name = "save_dir", .words = kResults},
    {.name = "log_dir", .words = kResults},
    {.name = "default_root_dir", .words = kResults},
    {.name = "resume", .words = kResume},
    {.name = "resume_from", .words = kResume},
    {.name = "resume_from_checkpoint", .words = kResume},
    {.name = "train", .words = kTop},
    {.name = "trainer", .words = kTop},
    {.name = "training", .words = kTop},
    // more of timm, nanoGPT, Hugging Face, Lightning and Hydra
    {.name = "opt", .key = "optimizer"},
    {.name = "sched", .key = "scheduler"},
    {.name = "model_ema", .key = "ema.decay"},
    {.name = "model_ema_decay", .key = "ema.decay"},
    {.name = "smoothing", .key = "loss.label_smoothing"},
    {.name = "label_smoothing_factor", .key = "loss.label_smoothing"},
    {.name = "dtype", .key = "precision", .words = kPrecision},
    {.name = "data_seed", .key = "loader.sampler_seed"},
    {.name = "metric", .key = "metrics"},
    {.name = "warmup_iters", .key = "scheduler.warmup", .words = kWarmup},
    {.name = "warmup", .key = "scheduler.warmup", .words = kWarmup},
    {.name = "beta1", .words = kBetas},
    {.name = "beta2", .words = kBetas},
    {.name = "adam_beta1", .words = kBetas},
    {.name = "adam_beta2", .words = kBetas},
    {.name = "decay_lr", .words = kCosine},
    {.name = "lr_scheduler_type", .key = "scheduler"},
    {.name = "eval_strategy", .key = "validation.every", .words = kSteps},
    {.name = "evaluation_strategy", .key = "validation.every", .words = kSteps},
    {.name = "val_check_interval", .key = "validation.every", .words = kSteps},
    {.name = "per_device_eval_batch_size", .key = "validation.batch_size"},
    {.name = "ddp_find_unused_parameters", .key = "distributed.find_unused_parameters"},
    {.name = "dataloader_drop_last", .key = "loader.drop_last_batch"},
    {.name = "root", .key = "dataset.path"},
    {.name = "hidden_size", .key = "model.hidden"},
    {.name = "report_to", .words = kTensorBoard},
    {.name = "wandb_log", .words = kTensorBoard},
    {.name = "num_nodes", .words = kNodes},
    {.name = "nnodes", .words = kNodes},
    {.name = "nodes", .words = kNodes},
    {.name = "node_rank", .words = kNodes},
    {.name = "master_addr", .words = kNodes},
    {.name = "master_port", .words = kNodes},
    {.name = "hostfile", .words = kNodes},
    {.name = "machinefile", .words = kNodes},
    {.name = "hosts", .words = kNodes},
    {.name = "sync_batchnorm", .words = "batch norm is not synchronised: each rank uses its own batch"},
    {.name = "ckpt_path", .words = kResume},
    {.name = "defaults", .words = kExtends},
    {.name = "include", .words = kExtends},
    {.name = "inherit", .words = kExtends},
    {.name = "inherits", .words = kExtends},
    {.name = "parent", .words = kExtends},
    {.name = "base", .words = kExtends},
    {.name = "_base_", .words = kExtends},
    // Ludwig
    {.name = "input_features", .key = "dataset.features"},
    {.name = "output_features", .key = "dataset.target"},
    {.name = "combiner", .key = "model"},
    {.name = "hyperopt", .words = kSweep},
    {.name = "T_max", .words = "no such key: a schedule covers the whole run, of epochs = … or steps = …"},
};

}  // namespace

std::string plain_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
  return name;
}

std::span<const CommonName> common_names() { return kCommonNames; }

const CommonName* find_common_name(const std::string& key) {
  const std::string name = plain_name(key);
  const auto known = std::find_if(std::begin(kCommonNames), std::end(kCommonNames),
                                  [&](const auto& one) { return name == plain_name(one.name); });
  return known == std::end(kCommonNames) ? nullptr : &*known;
}

std::string key_in_section(const std::string& name, const std::vector<std::string>& keys) {
  const CommonName* const known = find_common_name(name);
  if (known == nullptr) return "";
  const std::string path = known->key;
  const std::string last = path.substr(path.rfind('.') + 1);
  return path.find('.') != path.npos && std::find(keys.begin(), keys.end(), last) != keys.end() ? last : "";
}

}  // namespace ddp::config
