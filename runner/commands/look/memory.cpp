#include "commands/look/memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "config/length.h"
#include "launch/process/stop_signals.h"
#include "launch/start/held_data.h"
#include "launch/start/probe.h"
#include "rank/verbs.h"
#include "runs/asking.h"

namespace ddp::commands {
namespace {

using rank::FirstSteps;

// DDP builds its buckets anew in the second step. The third one is recorded; the fourth, and at times the fifth, is
// recorded and compared; then steps are replayed. The heap of eager steps hardly grows after the sixth.
constexpr std::int64_t kSteps = 6;
// The first micro-batch of a step, the last one, and those between them are recorded apart.
constexpr std::int64_t kMicroBatches = 3;
// If the steps would take longer, smaller batches are tried: memory grows evenly with the batch.
constexpr double kMostSeconds = 15;
// A batch norm takes no batch of one sample.
constexpr std::int64_t kLeastBatch = 2;
// A process that reads a byte of a mapped file gets all memory pages around it that the kernel has read: so many bytes.
constexpr std::int64_t kReadAround = 64 << 10;

// Bytes of a rank for an average of the weights: its share; the gathered average, from a validation or save to the next
// update; and the buffers at the last update, if updates are rarer than steps.
std::int64_t bytes_of_average(const launch::Plan& plan, const rank::Probe& probe) {
  const config::Ema& ema = plan.experiment.ema;
  if (!ema.on()) return 0;
  const std::int64_t ranks = plan.world_size();
  const std::int64_t gathered = ranks > 1 ? probe.parameter_bytes : 0;
  return (probe.parameter_bytes + ranks - 1) / ranks + gathered + (*ema.every > 1 ? probe.buffer_bytes : 0);
}

// Buckets that the gradients are not views into.
std::int64_t bytes_of_buckets(const launch::Plan& plan, const rank::Probe& probe) {
  const bool apart = !plan.strategy.one_process && !plan.experiment.distributed.gradients_are_views();
  return apart ? probe.gradient_bytes : 0;
}

// Buckets, and the gradients of the other ranks, of which this one adds up its share in their place.
std::int64_t bytes_of_communication(const launch::Plan& plan, const rank::Probe& probe) {
  const std::int64_t ranks = plan.ranks_here();
  const std::int64_t of_others = plan.shares_memory() ? probe.gradient_bytes / ranks * (ranks - 1) : 0;
  return bytes_of_buckets(plan, probe) + of_others;
}

// The state of the optimizer, or a rank's share of it.
std::int64_t bytes_of_optimizer(const launch::Plan& plan, const rank::Probe& probe) {
  return probe.not_divided.empty() ? probe.optimizer_bytes / plan.world_size() : probe.optimizer_bytes;
}

// The ranks of a plan that take the first steps of a training, and no files or addresses of a run.
launch::Plan plan_of_steps(launch::Plan plan) {
  plan.launch.meeting_file.clear();
  plan.launch.master_host.clear();
  plan.launch.master_port = 0;
  plan.experiment.checkpoint.rehearse = false;
  plan.experiment.accumulate = std::min(plan.experiment.accumulate, kMicroBatches);
  return plan;
}

// The same ranks with next to nothing to train: what they take is no part of the forecast.
launch::Plan plan_of_nothing(launch::Plan plan) {
  config::Experiment least;
  least.name = plan.experiment.name;
  least.threads = plan.experiment.threads;
  least.device_pool = plan.experiment.device_pool;
  least.parallel = plan.experiment.parallel;
  least.distributed = plan.experiment.distributed;
  least.model.name = "linear";
  least.dataset.name = "random_pairs";
  least.loss.name = "mse";
  least.batch_size = 1;
  least.epochs = 1;
  plan.experiment = least;
  return plan;
}

// Tries the first steps of a plan.
class FirstStepsOf {
 public:
  explicit FirstStepsOf(const runs::Prepared& p)
      : p_(p),
        e_(p.plan.experiment),
        steps_(std::min(kSteps, p.length.steps)),
        beside_(take(plan_of_nothing(plan_of_steps(p.plan)), launch::HeldData(), {}, kSteps).peak) {}

  // Returns the memory of the steps as part of the whole run, which reads more of its data.
  FirstSteps memory() const {
    const std::int64_t batch = *e_.batch_size, least = 2 * std::max(kLeastBatch, p_.probe.least_batch);
    const double share = kMostSeconds / seconds();
    if (batch < 2 * least) return with_batch(*e_.batch_size, e_.replay);
    if (share < 1) return extended(std::clamp(static_cast<std::int64_t>(share / 2 * batch), least, batch / 2));
    try {
      return with_batch(*e_.batch_size, e_.replay);
    } catch (const launch::Stopped&) {
      throw;
    } catch (const Error&) {  // memory is not sufficient, for example
      return extended(std::max(batch / 4, least));
    }
  }

 private:
  FirstSteps take(const launch::Plan& plan, const launch::HeldData& data, const rank::Task& task,
                  std::int64_t steps) const {
    rank::FirstStepsRequest request{.steps = steps};
    for (const record::DataFile& file : data.files()) {
      if (file.key.find("dataset") != std::string::npos) request.files.push_back(file.path);
    }
    if (!data.file().empty()) request.files.push_back(data.file().string());
    FirstSteps taken;
    const runs::AskedRanks ranks(plan, *p_.library, data, task, /*silent=*/true);
    ranks.ask(request, [&](const FirstSteps& reply) { taken = reply; });
    return taken;
  }

  std::int64_t logical_ranks() const { return p_.plan.logical_ranks() / p_.plan.world_size(); }

  // The time of the steps, roughly.
  double seconds() const {
    const std::int64_t micro_batches = steps_ * logical_ranks() * std::min(e_.accumulate, kMicroBatches);
    const double of_each = p_.probe.step_seconds / static_cast<double>(e_.accumulate);
    const double threads = static_cast<double>(p_.plan.ranks_here() * *e_.threads);
    return static_cast<double>(micro_batches) * of_each * std::max(1.0, threads / usable_cores());
  }

  FirstSteps with_batch(std::int64_t batch, const std::string& replay) const {
    launch::Plan plan = plan_of_steps(p_.plan);
    plan.experiment.batch_size = batch;
    plan.experiment.replay = replay;
    // After the last step of a run its best checkpoint is measured, and here is none.
    if (p_.length.steps <= steps_) {
      plan.experiment.epochs.reset();
      plan.experiment.steps = steps_ + 1;
    }
    FirstSteps taken = take(plan, p_.data, {.init_from = p_.standing.weights}, steps_);
    const std::int64_t read = read_of(taken.files);
    const std::int64_t more = std::max<std::int64_t>(0, read - taken.files_touched) - beside_;
    taken.peak += more;
    taken.now += more;
    taken.files = read;
    return taken;
  }

  // Returns how many bytes of the data's mapped files a rank has read at the end of the run.
  std::int64_t read_of(std::int64_t files) const {
    const std::int64_t held_out = p_.probe.validation_samples + p_.probe.test_samples;
    const std::int64_t samples = p_.probe.train_samples + held_out;
    if (samples == 0) return 0;
    const std::int64_t of_step = *e_.batch_size * e_.accumulate * logical_ranks();
    const double read =
        static_cast<double>(p_.length.steps) * static_cast<double>(of_step) + static_cast<double>(held_out);
    const double most = read * static_cast<double>(files / samples + kReadAround);
    return most < static_cast<double>(files) ? static_cast<std::int64_t>(most) : files;
  }

  // Extends the memory of half of this batch and of all of it to the run's batch.
  FirstSteps extended(std::int64_t batch) const {
    const std::int64_t whole = *e_.batch_size;
    FirstSteps half = with_batch(batch / 2, e_.replay);
    const bool is_too_large = half.recorded / (batch / 2) * whole > p_.plan.bytes_to_record();
    if (is_too_large) half = with_batch(batch / 2, "off");
    const FirstSteps all = with_batch(batch, is_too_large ? "off" : e_.replay);
    const double further = static_cast<double>(whole - batch) / static_cast<double>(batch - batch / 2);
    const auto extend = [&](std::int64_t from, std::int64_t to) {
      return to + static_cast<std::int64_t>(further * static_cast<double>(to - from));
    };
    return {.peak = extend(half.peak, all.peak), .now = extend(half.now, all.now), .files = all.files};
  }

  const runs::Prepared& p_;
  const config::Experiment& e_;
  const std::int64_t steps_;
  const std::int64_t beside_;  // bytes of a rank that trains next to nothing
};

// Returns the parts that the numbers of parameters tell.
Memory known_parts(const launch::Plan& plan, const rank::Probe& probe) {
  return {.parameters = probe.parameter_bytes + probe.buffer_bytes,
          .gradients = probe.gradient_bytes,
          .optimizer = bytes_of_optimizer(plan, probe),
          .average = bytes_of_average(plan, probe),
          .communication = bytes_of_communication(plan, probe)};
}

}  // namespace

void Memory::fields(config::Fields& f) {
  f({"parameters", "with buffers"}, parameters);
  f({"gradients"}, gradients);
  f({"optimizer"}, optimizer);
  f({"average"}, average);
  f({"activations", "at the peak, with all else, such as what a recorded step holds"}, activations);
  f({"communication"}, communication);
  f({"data", "mapped data that the run reads"}, data);
  f({"checkpoint", "the copy that is written while training continues"}, checkpoint);
  f({"peak", "the sum; 0: not known"}, peak);
  f({.name = "reason", .doc = "why the peak is not known; null: it is", .may_be_null = true}, reason);
}

Memory forecast_memory(const runs::Prepared& p) {
  Memory memory = known_parts(p.plan, p.probe);
  if (p.plan.uses_gpus()) memory.reason = "ranks train on GPUs";
  if (p.plan.launch.nodes > 1 || p.plan.launch.one_rank) memory.reason = "this command does not start all ranks";
  if (!memory.reason.empty()) return memory;
  std::string key = launch::probe_key(p.plan, "", p.standing.weights);
  if (!key.empty()) key.insert(0, "memory-");
  if (const auto known = launch::find_reply(key)) return config::read<Memory>(*known);
  try {
    const FirstSteps steps = FirstStepsOf(p).memory();
    const std::int64_t copy = snapshot_bytes(p.plan, p.probe);
    const bool is_early = config::saves_on_the_way(p.plan.experiment, p.length);
    memory.peak = is_early ? steps.peak + copy : std::max(steps.peak, steps.now + copy);
    if (memory.peak > steps.peak) memory.checkpoint = copy;
    memory.data = steps.files;
  } catch (const launch::Stopped&) {
    throw;
  } catch (const Error& error) {
    memory.reason = error.summary();
    return memory;
  }
  const std::int64_t others = memory.parameters + memory.gradients + memory.optimizer + memory.average +
                              memory.communication + memory.data + memory.checkpoint;
  memory.activations = std::max<std::int64_t>(0, memory.peak - others);
  launch::keep_reply(key, config::write(memory));
  return memory;
}

std::int64_t bytes_per_rank(const launch::Plan& plan, const rank::Probe& probe) {
  const std::int64_t ranks = plan.world_size();
  const bool shared = probe.not_divided.empty() && plan.shares_memory() && plan.ranks_here() == ranks;
  return (shared ? probe.parameter_bytes / ranks : probe.parameter_bytes) + probe.gradient_bytes +
         bytes_of_buckets(plan, probe) + bytes_of_optimizer(plan, probe) + probe.buffer_bytes +
         bytes_of_average(plan, probe);
}

std::int64_t snapshot_bytes(const launch::Plan& plan, const rank::Probe& probe) {
  const std::int64_t own = plan.experiment.distributed.broadcast_buffers ? 0 : plan.world_size() * probe.buffer_bytes;
  const std::int64_t average = plan.experiment.ema.on() ? probe.parameter_bytes + probe.buffer_bytes : 0;
  return probe.parameter_bytes + probe.buffer_bytes + probe.optimizer_bytes + own + average;
}

}  // namespace ddp::commands
