#include "launch/plan/plan.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>

#include "base/limits.h"
#include "base/paths.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "schedule/scheduler.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// Returns why these ranks cannot use a backend; "": they can.
std::string obstacle_to(const config::Transport& transport, const Plan& plan, const Launch& launch) {
  const auto is_gpu = [](const auto& group) { return group.front() != "cpu"; };
  if (transport.devices == "cuda" && !std::all_of(plan.groups.begin(), plan.groups.end(), is_gpu)) {
    return "device_pool has CPU ranks";
  }
  if (transport.devices == "cpu" && plan.uses_gpus()) return "device_pool has GPUs";
  return transport.shares_memory && launch.one_rank ? "each of these ranks is started separately" : "";
}

std::string resolve_backend(const config::Loaded& loaded, const Plan& plan, const Launch& launch) {
  const std::string& asked = loaded.experiment.distributed.backend;
  if (loaded.strategy.one_process) return asked;
  const auto components = loaded.experiment.components();
  if (const config::Spec* backend = components.find("backend", asked)) {
    const std::string obstacle = obstacle_to(config::transport_of(backend->traits), plan, launch);
    if (obstacle.empty()) return asked;
    throw loaded.error("distributed.backend", asked + " " + backend->doc + ", but " + obstacle,
                       "use backend = \"auto\"");
  }
  std::map<int, std::string> fitting;
  for (const auto& [name, spec] : components.of("backend")) {
    const config::Transport transport = config::transport_of(spec.traits);
    const bool is_slower = transport.shares_memory && launch.nodes > 1;
    if (!is_slower && obstacle_to(transport, plan, launch).empty()) fitting[transport.choice] = name;
  }
  return fitting.begin()->second;
}

// `kept`: the samples of a step of a resumed run.
std::int64_t resolve_batch_size(const config::Loaded& loaded, const Plan& plan, std::optional<std::int64_t> kept) {
  const auto& e = loaded.experiment;
  if (!kept && !e.global_batch_size) return e.batch_size.value_or(32);
  const std::int64_t global = kept ? *kept : *e.global_batch_size;
  const std::int64_t parts = plan.logical_ranks() * e.accumulate;
  if (global % parts == 0) return global / parts;
  std::string cannot = std::to_string(global) + " samples cannot be divided over " +
                       std::to_string(plan.logical_ranks()) + (e.logical_ranks ? " logical" : "") +
                       (plan.logical_ranks() == 1 ? " rank" : " ranks");
  if (e.accumulate > 1) cannot += " x " + std::to_string(e.accumulate) + " micro-batches";
  if (kept) {
    throw loaded.error(global % plan.logical_ranks() == 0 ? "accumulate" : "device_pool",
                       "a step of this run takes " + std::to_string(global) + " samples: " + cannot,
                       "use a number of ranks that divides them, or at an epoch's end another batch_size");
  }
  const std::int64_t below = global / parts * parts;
  const std::string nearest = (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + parts);
  throw loaded.error("global_batch_size", cannot, "the nearest that can: global_batch_size = " + nearest);
}

config::Value pool_of(const Plan& plan) {
  const auto entry = [](const std::string& device) {
    return device == "cpu" ? config::Value(device) : config::Value(std::stoll(device.substr(5)));
  };
  config::Value pool = config::Value::array();
  for (const auto& group : plan.groups) {
    config::Value list = config::Value::array();
    for (const auto& device : group) list.push_back(entry(device));
    if (plan.strategy.all_devices) return list;
    pool.push_back(group.size() == 1 ? list.front() : list);
  }
  return pool;
}

void require_model_fits(const config::Loaded& loaded, const Plan& plan) {
  const auto& e = plan.experiment;
  const std::int64_t most = loaded.model_devices;
  if (plan.strategy.all_devices) {
    if (most == 1) return;
    throw loaded.error(
        "parallel",
        "model \"" + e.model.name + "\" is spread over its devices; " + e.parallel + " puts a whole model on each",
        "use parallel = \"ddp\": it trains models that are spread over devices");
  }
  const auto given = static_cast<std::int64_t>(plan.groups.front().size());
  if (given <= most) return;
  const std::string uses = most == 1 ? "one device" : "at most " + std::to_string(most) + " devices";
  throw loaded.error(
      loaded.given("devices_per_rank") ? "devices_per_rank" : "device_pool",
      "model \"" + e.model.name + "\" uses " + uses + ", device_pool gives each rank " + std::to_string(given));
}

// Throws if the ranks cannot compute the experiment's logical ranks.
void refuse_logical_ranks(const config::Loaded& loaded, const Plan& plan) {
  const auto& e = loaded.experiment;
  if (!e.logical_ranks) {
    if (!plan.launch.elastic) return;
    throw usage_error("needs logical_ranks in the experiment: other numbers of ranks train other numbers", "--elastic",
                      "set it to the number of ranks, if that is a power of two: --set logical_ranks=…");
  }
  const std::int64_t logical = *e.logical_ranks, ranks = plan.world_size();
  if (!std::has_single_bit(static_cast<std::uint64_t>(logical))) {
    throw loaded.error("logical_ranks", std::to_string(logical) + " is not a power of two");
  }
  if (logical % ranks != 0) {
    throw loaded.error(
        "logical_ranks",
        std::to_string(ranks) + " ranks cannot divide " + std::to_string(logical) + " logical ranks among themselves",
        "use a number of ranks that divides them: --set device_pool=…");
  }
  const auto& d = e.distributed;
  const auto gather = e.loss.options.find("gather");
  const char* const key = gather != e.loss.options.end() && *gather == true ? "loss.gather"
                          : e.parallel != "ddp"                             ? "parallel"
                          : d.static_graph                                  ? "distributed.static_graph"
                          : d.find_unused_parameters                        ? "distributed.find_unused_parameters"
                          : !d.broadcast_buffers                            ? "distributed.broadcast_buffers"
                          : !d.gradients_are_views()                        ? "distributed.gradient_as_bucket_view"
                                                                            : nullptr;
  if (key != nullptr) throw loaded.error(key, "needs the default value with logical_ranks");
}

// Throws if batch norms cannot take their statistics from all ranks.
void refuse_synced_norms(const config::Loaded& loaded, const Plan& plan) {
  const auto& e = loaded.experiment;
  if (!e.syncs_batch_norm()) return;
  constexpr const char* kKey = "model.sync_batch_norm";
  if (loaded.strategy.all_devices) {
    throw loaded.error(kKey, e.parallel + " has no ranks: each device takes the statistics of its own part of a batch",
                       "use parallel = \"ddp\"");
  }
  // Ranks that use other parameters add up their gradients at other moments of backward.
  if (e.distributed.find_unused_parameters) {
    throw loaded.error("distributed.find_unused_parameters", "needs the default value with sync_batch_norm");
  }
  const bool has_turns = plan.launch.elastic || plan.logical_ranks() > plan.world_size();
  if (plan.uses_gpus() && has_turns) {
    throw loaded.error(kKey, "on GPUs each logical rank needs a rank of its own",
                       "leave logical_ranks out, or use CPU ranks");
  }
}

void refuse_what_cannot_be(const config::Loaded& loaded, const Plan& plan) {
  const auto& d = loaded.experiment.distributed;
  if (loaded.strategy.one_process && plan.world_size() > 1) {
    throw loaded.error("parallel",
                       loaded.experiment.parallel + " trains in one process, but " + std::to_string(plan.world_size()) +
                           " are launched",
                       "use parallel = \"ddp\"");
  }
  refuse_logical_ranks(loaded, plan);
  refuse_synced_norms(loaded, plan);
  if (d.static_graph && loaded.experiment.accumulate > 1) {
    // The first backward would skip the sync, which the reducer's static graph does not support.
    throw loaded.error("distributed.static_graph", "DDP's static graph cannot accumulate",
                       "use accumulate = 1, or leave static_graph off");
  }
}

// Throws if a held-out set is empty. `samples`: all samples of the dataset; 0: it draws them without end.
void require_held_out(const config::Loaded& loaded, const std::string& section, const config::HeldOut& options,
                      std::int64_t held_out, std::int64_t samples) {
  if (!options.exists() || held_out > 0) return;
  if (!options.dataset.name.empty()) {
    throw loaded.error(section + ".dataset", "holds no samples to measure on");
  }
  throw loaded.error(
      section + ".split",
      "holds nothing out of the " + std::to_string(samples) + " samples of \"" + loaded.experiment.dataset.name + "\"",
      samples == 0 ? "batches that are drawn without end cannot be held out" : "");
}

// Some lengths of a schedule can be checked only after the run's length is known. The ranks check a scheduler of the
// user's own.
void require_schedule(const config::Loaded& loaded, const config::Experiment& e, const config::Length& length) {
  if (!schedule::is_here(e.scheduler.name)) return;
  try {
    schedule::scheduler_of(e, length);
  } catch (const Error& error) {
    throw loaded.error(error.where(), config::in_quotes(error.where()) + " " + error.summary(), error.remedy());
  }
}

// Throws if the model does not take the batches of `samples` that `key` makes, or their short last batch.
void require_batches(const config::Loaded& loaded, const rank::Probe& probe, const std::string& key,
                     std::int64_t samples, std::int64_t size, bool drops_short) {
  const std::int64_t least = probe.least_batch;
  const std::int64_t most = probe.most_batch;
  const auto require = [&](const std::string& what, std::int64_t taken) {
    if (taken >= least && taken <= most) return;
    std::string range = std::to_string(least);
    if (most > least) range += most == INT64_MAX ? " or more" : " to " + std::to_string(most);
    throw loaded.error(
        key, what + std::to_string(taken) + " samples, but the model was exported for batches of " + range,
        "export the model again for batches of any size: dynamic_shapes=({0: torch.export.Dim(\"batch\")},)");
  };
  if (samples == 0 || samples >= size) require("its batches have ", size);
  if (samples % size != 0 && !drops_short) require("its last batch has ", samples % size);
}

void require_batch_sizes(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe) {
  const auto& e = plan.experiment;
  const std::int64_t of_rank = config::samples_of_rank(probe.train_samples, plan.logical_ranks(), e.loader.drop_last);
  require_batches(loaded, probe, "batch_size", of_rank, *e.batch_size, e.loader.drop_last_batch);
  if (probe.validation_samples > 0) {
    require_batches(loaded, probe, "validation.batch_size", probe.validation_samples, *e.validation.batch_size, false);
  }
  if (probe.test_samples > 0) {
    require_batches(loaded, probe, "test.batch_size", probe.test_samples, *e.test.batch_size, false);
  }
}

constexpr const char* kKey = "init_from.path";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kAveraged = "ema.safetensors";

// If a run has averaged weights, they are its result.
fs::path weights_in(const fs::path& checkpoint) {
  std::error_code unreadable;
  return checkpoint / (fs::exists(checkpoint / kAveraged, unreadable) ? kAveraged : kWeights);
}

fs::path weights_of_run(const config::Loaded& loaded, const record::RunDirectory& run) {
  if (run.is_sweep()) {
    throw loaded.error(kKey, "this is a sweep, not a run: " + run.path().string(),
                       "name one of its trials: " + run.path().string() + "/007");
  }
  const fs::path checkpoint = record::latest_checkpoint(run.checkpoints());
  if (!checkpoint.empty()) return weights_in(paths::absolute(checkpoint));
  throw loaded.error(kKey, "this run has no checkpoint yet: " + run.path().string(), "name a run that has saved");
}

// The weights that a link leads to now. A link such as results/NAME/latest leads elsewhere once a new run has begun.
fs::path behind_links(const fs::path& file) {
  std::error_code missing;
  fs::path found = fs::canonical(file, missing);
  return missing ? file : found;
}

// Does the name end as Python's files of weights do? Then it names no run.
bool is_like_weights(const std::string& name) {
  const std::string ending = fs::path(name).extension().string();
  return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin" || ending == ".npz";
}

// Does the file begin as a .safetensors file does: with the length of its header, and its brace? An unreadable file is
// left to its reader.
bool is_safetensors(const fs::path& file) {
  char start[9] = {};
  std::ifstream in(file, std::ios::binary);
  return !in || (in.read(start, sizeof start) && start[sizeof start - 1] == '{');
}

// Returns the run that the experiment names. All commands accept the same names.
record::RunDirectory run_named(const config::Loaded& loaded, const fs::path& results, const std::string& name) try {
  return record::RunDirectory::find(results, name);
} catch (const Error& error) {
  throw loaded.error(kKey, "there is no such file, and " + error.summary() + " under " + error.where(), error.remedy());
}

}  // namespace

bool Plan::uses_gpus() const {
  return std::any_of(groups.begin(), groups.end(), [](const auto& group) {
    return std::any_of(group.begin(), group.end(), [](const std::string& device) { return device != "cpu"; });
  });
}

std::string Plan::device_name(int local_rank) const {
  std::string text;
  for (const auto& device : groups.at(local_rank)) {
    if (!text.empty()) text += " + ";
    text += device;
    if (device == "cpu") continue;
    const Gpu& gpu = gpus.at(std::stoul(device.substr(5)));
    text += " " + gpu.name + " (" + gpu.pci + ", " + gpu.uuid + ")";
  }
  return text;
}

std::vector<std::string> Plan::device_names() const {
  std::vector<std::string> names;
  for (int r = 0; r < ranks_here(); ++r) names.push_back(device_name(r));
  return names;
}

World largest_world(std::int64_t logical_ranks, const std::vector<int>& available) {
  World largest{.nodes = 0, .ranks_here = 0};
  for (int ranks = available.front(); ranks > 0; --ranks) {
    const auto able =
        std::count_if(available.begin(), available.end(), [ranks](int of_node) { return of_node >= ranks; });
    for (int nodes = static_cast<int>(able); nodes > 0; --nodes) {
      const World world{.nodes = nodes, .ranks_here = ranks};
      if (logical_ranks % world.ranks() == 0 && world.ranks() > largest.ranks()) largest = world;
    }
  }
  return largest;
}

std::vector<int> not_lost(int all, const std::vector<int>& lost, int count) {
  std::vector<int> left;
  for (int i = 0; i < all && static_cast<int>(left.size()) < count; ++i) {
    if (std::find(lost.begin(), lost.end(), i) == lost.end()) left.push_back(i);
  }
  return left;
}

Plan Plan::in(const World& world, int place, const std::vector<int>& lost) const {
  Plan smaller = *this;
  smaller.groups.clear();
  for (const int group : not_lost(ranks_here(), lost, world.ranks_here)) smaller.groups.push_back(groups[group]);
  smaller.first_rank = place * world.ranks_here;
  smaller.all_ranks = world.ranks();
  smaller.experiment.device_pool = pool_of(smaller);
  return smaller;
}

std::string Plan::config_hash() const {
  return record::hash_hex(config::to_toml(config::comparable(record::as_kept(experiment))) +
                          record::hash_of_texts(experiment));
}

Plan make_plan(const config::Loaded& loaded, std::vector<Gpu> gpus, const Launch& launch,
               std::optional<std::int64_t> global_batch_size) {
  Plan plan{.experiment = loaded.experiment,
            .strategy = loaded.strategy,
            .libraries = loaded.libraries,
            .holds_data = loaded.holds_data,
            .groups = {},
            .gpus = std::move(gpus),
            .launch = launch};
  plan.groups = device_groups(loaded, plan.gpus, launch.ranks_here);
  plan.first_rank = launch.one_rank ? launch.rank - launch.local_rank : launch.node_rank * plan.ranks_here();
  plan.all_ranks = launch.one_rank ? launch.world_size : launch.nodes * plan.ranks_here();
  refuse_what_cannot_be(loaded, plan);
  auto& e = plan.experiment;
  e.device_pool = pool_of(plan);
  e.devices_per_rank.reset();  // device_pool now contains it
  require_model_fits(loaded, plan);
  e.distributed.backend = resolve_backend(loaded, plan, launch);
  e.batch_size = resolve_batch_size(loaded, plan, global_batch_size);
  e.global_batch_size.reset();
  if (e.validation.exists() && !e.validation.batch_size) e.validation.batch_size = e.batch_size;
  if (e.test.exists() && !e.test.batch_size) e.test.batch_size = e.batch_size;
  if (!e.threads) e.threads = e.logical_ranks ? 1 : default_threads(plan.ranks_here());
  if (!e.epochs && !e.steps) e.epochs = 1;
  return plan;
}

void require_fitting_machine(const config::Loaded& loaded) {
  constexpr std::int64_t kMostGpus = 4096;
  const auto& e = loaded.experiment;
  if (e.device_pool.is_string()) return;
  std::int64_t gpus = 0;
  if (e.device_pool.is_array()) {
    gpus = gpus_of_list(e.device_pool);
  } else if (e.transport().devices == "cuda") {  // a number of ranks stands for GPUs or for CPUs
    gpus = std::min(kMostGpus + 1, e.device_pool.get<std::int64_t>()) *
           std::min(kMostGpus + 1, e.devices_per_rank.value_or(1));
  }
  if (gpus <= kMostGpus) make_plan(loaded, std::vector<Gpu>(static_cast<std::size_t>(gpus)));
}

config::Length length_of_run(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe) {
  const auto& e = plan.experiment;
  const std::int64_t samples = probe.train_samples + probe.validation_samples + probe.test_samples;
  require_held_out(loaded, "validation", e.validation, probe.validation_samples, samples);
  require_held_out(loaded, "test", e.test, probe.test_samples, samples);
  require_batch_sizes(loaded, plan, probe);
  std::int64_t per_epoch = 0;
  if (probe.train_samples > 0) {
    const std::int64_t ranks = plan.logical_ranks();
    if (e.loader.drop_last && probe.train_samples < ranks) {
      throw loaded.error("loader.drop_last", "drops everything: " + std::to_string(probe.train_samples) +
                                                 " samples for " + std::to_string(ranks) + " ranks");
    }
    per_epoch = config::micro_batches_of_rank(probe.train_samples, plan.logical_ranks(), *e.batch_size, e.loader);
    if (per_epoch == 0) {
      const std::int64_t of_rank =
          config::samples_of_rank(probe.train_samples, plan.logical_ranks(), e.loader.drop_last);
      throw loaded.error("loader.drop_last_batch", "drops everything: a rank has " + std::to_string(of_rank) +
                                                       " samples, and a batch takes " + std::to_string(*e.batch_size));
    }
  }
  const config::Length length = config::length_of(e, per_epoch);
  require_schedule(loaded, e, length);
  return length;
}

void find_weights(config::Loaded& loaded, const fs::path& results) {
  std::string& path = loaded.experiment.init_from.path;
  if (path.empty()) return;
  std::error_code unreadable;
  if (!fs::path(path).is_absolute()) {
    path = weights_of_run(loaded, run_named(loaded, results, path)).string();
  } else if (const record::RunDirectory run{fs::path(path)}; run.begun()) {
    path = weights_of_run(loaded, run).string();
  } else if (fs::is_directory(path, unreadable)) {
    path = weights_in(path).string();
  }
  path = behind_links(path).string();
}

void require_weights(const config::Loaded& loaded) {
  const std::string& path = loaded.experiment.init_from.path;
  std::error_code unreadable;
  if (fs::path(path).is_absolute() ? !fs::exists(path, unreadable) : !is_like_weights(path)) return;
  config::Loaded found = loaded;
  find_weights(found, "");
  weights_of(found);
}

fs::path weights_of(const config::Loaded& loaded) {
  const fs::path file = loaded.experiment.init_from.path;
  std::error_code unreadable;
  if (file.empty() || (fs::is_regular_file(file, unreadable) && is_safetensors(file))) return file;
  const std::string what = fs::is_regular_file(file, unreadable) ? "is no .safetensors file: "
                           : fs::exists(file, unreadable)        ? "has no weights: "
                                                                 : "there is no such file: ";
  throw loaded.error(kKey, what + file.string(), "give a checkpoint, a run or a .safetensors file");
}

}  // namespace ddp::launch
