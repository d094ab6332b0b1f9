#include <sys/stat.h>
#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/heap.h"
#include "base/log.h"
#include "checkpoint/everywhere.h"
#include "config/difference.h"
#include "data/rows.h"
#include "dist/parallel/parallel.h"
#include "dist/waiting.h"
#include "format/safetensors.h"
#include "model/generators.h"
#include "model/weights.h"
#include "models/model.h"
#include "rank/process.h"
#include "rank/verbs.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "tensorboard/event_log.h"
#include "train/rules.h"
#include "train/trainer.h"

namespace ddp::rank {
namespace {

// The experiment as all ranks must have it. Folders may differ, and only rank 0 reads the initial weights.
config::Value experiment_of_all(const Task& t) {
  config::Value experiment = config::write(config::comparable(record::as_kept(*t.experiment)));
  experiment["source_texts"] = record::hashes_of_texts(*t.experiment);
  experiment.erase("init_from");
  return experiment;
}

// A rank's side of the comparison.
struct Terms {
  config::Value experiment = {};
  std::vector<record::DataSample> data = {};
  int ranks_here = 0;  // explains a difference

  void fields(config::Fields& f) {
    f({.name = "experiment"}, experiment);
    f({.name = "data"}, data);
    f({.name = "ranks_here"}, ranks_here);
  }
};

Error other_threads(const std::string& rank, const config::Difference& differs, const Terms& first,
                    const Terms& second) {
  return usage_error("LOCAL_WORLD_SIZE is " + std::to_string(second.ranks_here) + " on " + rank + ", and " +
                         std::to_string(first.ranks_here) +
                         " on rank 0, so they have different threads: " + differs.second + " and " + differs.first,
                     "",
                     "set LOCAL_WORLD_SIZE to the number of ranks on the machine; if machines have different numbers, "
                     "set threads");
}

void require_same_terms(const std::string& rank, const Terms& first, const Terms& second) {
  if (const auto differs = config::first_difference(first.experiment, second.experiment)) {
    if (differs->key == "threads" && first.ranks_here != second.ranks_here) {
      throw other_threads(rank, *differs, first, second);
    }
    throw usage_error(
        rank + "'s experiment is not rank 0's: " + differs->key + " is " + differs->second + ", not " + differs->first,
        "", is_of_paths(*differs) ? config::kSamePathRemedy : "start all ranks with the same file and settings");
  }
  const std::string differs = record::sample_difference(first.data, second.data);
  if (!differs.empty()) throw usage_error(rank + "'s data are not rank 0's: " + differs, "", record::kSameDataRemedy);
}

// Throws ddp::Error (usage) on every rank if ranks without a common parent were started with different experiments, or
// if their files of data or model differ. `files`: of this rank's experiment; {} if the nodes have compared them.
void require_same_terms(const Task& t, const std::vector<record::DataFile>& files, const dist::Group& control) {
  if (!control) return;
  const Terms mine{
      .experiment = experiment_of_all(t), .data = record::content_samples(files), .ranks_here = t.ranks_here};
  const std::string hash = record::hash_hex(mine.experiment.dump() + record::hash_of_samples(mine.data));
  const std::vector<std::string> hashes = dist::all_gather_texts(control, hash);
  if (std::equal(hashes.begin() + 1, hashes.end(), hashes.begin())) return;
  const std::vector<std::string> all = dist::all_gather_texts(control, config::written(mine).dump());
  const auto terms_in = [](const std::string& text) { return config::read_written<Terms>(config::Value::parse(text)); };
  const Terms first = terms_in(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    require_same_terms("rank " + std::to_string(rank), first, terms_in(all[rank]));
  }
}

// Tells the other ranks where rank 0 starts, and opens the log of a rank that has no parent. Returns rank 0's
// checkpoint; empty: a new run.
std::filesystem::path follow_rank_0(const Task& t, const dist::Group& control) {
  if (!control) return t.resume_from;
  const std::filesystem::path run = dist::broadcast_text(control, t.run_directory.string());
  t.progress->rank(t.rank).begun = true;
  // A rank without a parent writes its own log, if it sees the run's folder.
  const std::filesystem::path log = record::RunDirectory(run).log(t.rank);
  std::error_code unseen;
  const bool logs = !t.watched && t.rank != 0 && std::filesystem::is_directory(log.parent_path(), unseen);
  if (logs) log::also_to(log.string());
  return dist::broadcast_text(control, t.resume_from.string());
}

// Adapts the state to this run's ranks and batch size, which may have changed since the save. Samples of the epoch that
// were seen stay seen; the rest of the epoch's order is distributed again.
void take_over(checkpoint::State& state, const Task& t, const TrainRequest& request) {
  const auto& e = *t.experiment;
  const config::EpochPlace then{.position = state.position,
                                .offset = state.offset,
                                .world_size = state.world_size,
                                .batch_size = state.batch_size};
  const config::EpochPlace now = then.converted(e.logical(t.world_size), *e.batch_size);
  state.position = now.position;
  state.offset = now.offset;
  state.world_size = now.world_size;
  state.ranks = t.world_size;
  state.batch_size = now.batch_size;
  state.global_batch_size = *e.batch_size * e.logical(t.world_size) * e.accumulate;
  state.config_hash = t.config_hash;
  state.settings = t.settings;
  state.data = request.data_files;
}

// Returns "CPU0" or "GPU3", the tutorial scripts' label for the device of a rank.
std::string label(const Task& t) {
  const c10::Device device = first_device(t);
  return device.is_cpu() ? "CPU" + std::to_string(t.rank) : "GPU" + std::to_string(device.index());
}

// Writes the position at the start into the shared progress.
void show_start(record::RunProgress& run, const config::Experiment& e, const config::Length& length,
                const checkpoint::State& state) {
  run.steps_in_all = length.steps;
  const config::Period every = e.validation.period();
  if (e.validation.exists()) {
    run.steps_per_validation = every.steps > 0 ? every.steps : every.epochs * length.steps_per_epoch;
  }
  run.step = state.step;
  run.skipped_steps = state.skipped_steps;
  run.epochs_done = state.epoch;
  run.seconds = state.seconds;
}

void tell_begin(const Task& t) { log::detail("Running " + t.experiment->model.name + " on " + t.device_names); }

// Shows the numbers of all parameters and of frozen parameters.
void show_model(record::RunProgress& run, const NamedTensors& parameters) {
  run.parameters = model::count_of(parameters);
  run.frozen_parameters = run.parameters - model::count_of(trained_of(parameters));
}

// The parts of a rank that start() builds and train() uses.
struct Parts {
  const Task& task;
  const TrainRequest& request;
  record::RunDirectory directory;  // from start() on: without a parent, the run begins there
  const Data data;
  const dist::Groups groups;
  std::unique_ptr<model::Generators> generators;  // of the logical ranks
  std::unique_ptr<dist::Parallel> model;
  std::unique_ptr<train::GroupedOptimizer> optimizer;
  std::optional<tensorboard::EventLog> events;  // on rank 0
  std::optional<record::RunRecorder> recorder;  // on rank 0
  std::optional<train::Ema> ema;
  std::optional<train::Checkpointer> checkpointer;
  checkpoint::State state;  // starting point
  int ranks_before = 0;     // that computed it; 0: a new run
  FirstSteps memory = {};   // at the end of the training
};

// Starts the event records of the run, on rank 0.
void start_records(Parts& p) {
  const Task& t = p.task;
  const auto& e = *t.experiment;
  const record::Console console(t.console);
  if (e.log.tensorboard) {
    p.events.emplace(tensorboard::EventLogOptions{.folder = p.directory.tensorboard(),
                                                  .parameters = tensorboard::hyper_parameters(e),
                                                  .step = p.state.step,
                                                  .epoch = p.state.epoch,
                                                  .seconds = p.state.seconds,
                                                  .console = console});
  }
  p.recorder.emplace(p.directory.metrics(), *t.progress, console, e.log.every, p.state.seconds,
                     p.events ? &*p.events : nullptr);
  p.recorder->follow(train::followed_metrics(e));
}

std::map<std::string, std::string> documents_of(const data::Sets& sets) {
  if (sets.preprocessing.is_null()) return {};
  return {{checkpoint::kPreprocessing, sets.preprocessing.dump(2) + "\n"}};
}

// Prints whether the average starts or ends here, because the checkpoint was saved with another [ema].
void tell_of_average(const config::Experiment& e, const checkpoint::Checkpoint& saved, const record::Console& console) {
  const bool had = saved.state.rules.contains(checkpoint::kEma);
  const std::int64_t step = saved.state.step;
  if (had && !e.ema.on()) console.line("the average of the weights ends at step " + std::to_string(step));
  if (had || !e.ema.on()) return;
  const std::int64_t first = (step / *e.ema.every + 1) * *e.ema.every;
  if (step < *e.ema.every) return;  // the first update is still ahead in any case
  console.line("the average of the weights begins at step " + std::to_string(first));
}

// Builds the optimizer. Decides whether the ranks divide the update, and prepares it (distributed.shard).
std::unique_ptr<train::GroupedOptimizer> build_optimizer(const Parts& p) {
  const Task& t = p.task;
  const auto& e = *t.experiment;
  const NamedTensors& names = p.model->parameters_by_all_names();
  auto whole = std::make_unique<train::GroupedOptimizer>(e, names);
  if (!whole->division_obstacle(e, t.world_size, shares_memory(t)).empty()) return whole;
  const bool whole_gradients = train::Clip(e.clip).on() || e.precision == "fp16";
  const bool in_place = p.model->share_parameters(whole_gradients);
  if (!in_place && e.distributed.shard == "auto") return whole;
  t.progress->run().divides_update = true;
  return std::make_unique<train::GroupedOptimizer>(
      e, names, train::Division{.group = p.groups.main, .shares_parameters = in_place});
}

// In place of rank 0, which saves.
constexpr int kNobody = -1;

// Builds model, optimizer and state, new or from a checkpoint. Frees the loaded checkpoint before it returns. Without a
// run directory, rank 0 neither records nor saves.
void start(Parts& p) {
  const Task& t = p.task;
  const auto& e = *t.experiment;
  const std::filesystem::path from = follow_rank_0(t, p.groups.control);
  if (!t.watched) tell_begin(t);
  std::optional<checkpoint::Checkpoint> saved;
  if (!from.empty()) saved = checkpoint::load_everywhere(from, t.rank, p.groups.control);
  p.model = build_parallel(t, p.groups.main, saved ? &*saved : nullptr, /*raw=*/true);
  p.optimizer = build_optimizer(p);
  if (e.ema.on()) p.ema.emplace(e.ema, *p.model, p.groups.main);
  if (saved) p.state = saved->state;
  p.state.freeze = e.freeze;
  p.state.rows = p.data.sets.rows;
  p.directory = record::RunDirectory(t.run_directory);
  p.directory.keep_open();
  const bool writes = t.rank == 0 && !t.run_directory.empty();
  if (writes) start_records(p);
  p.checkpointer.emplace(train::CheckpointerParts{.run = p.directory,
                                                  .options = e.checkpoint,
                                                  .metric = e.best_metric(),
                                                  .rank = t.rank == 0 && !writes ? kNobody : t.rank,
                                                  .generators = *p.generators,
                                                  .group = p.groups.main,
                                                  .control = p.groups.control,
                                                  .model = *p.model,
                                                  .states = train::states_of({.experiment = e,
                                                                              .rank = t.rank,
                                                                              .group = p.groups.main,
                                                                              .model = *p.model,
                                                                              .optimizer = *p.optimizer,
                                                                              .ema = p.ema ? &*p.ema : nullptr}),
                                                  .documents = documents_of(p.data.sets),
                                                  .recorder = p.recorder ? &*p.recorder : nullptr});
  if (saved) p.checkpointer->restore(*saved);
  if (saved && t.rank == 0) tell_of_average(e, *saved, record::Console(t.console));
  if (saved) p.ranks_before = p.state.ranks;
  take_over(p.state, t, p.request);
}

train::ProfiledRank profiled_rank(const Parts& p) {
  const Task& t = p.task;
  const std::string& precision = t.experiment->precision;
  return {.progress = t.progress->rank(t.rank),
          .rank = t.rank,
          .device = first_device(t),
          .precision = precision == "bf16"   ? at::kBFloat16
                       : precision == "fp16" ? at::kHalf
                                             : at::kFloat,
          .group = p.groups.main,
          .folder = p.directory.profile(),
          .console = record::Console(t.console)};
}

// Returns the memory that this process has now, and had at most.
FirstSteps memory_of_process() {
  FirstSteps memory;
  std::ifstream in("/proc/self/status");
  for (std::string name; in >> name;) {
    if (name == "VmHWM:" && in >> memory.peak) memory.peak *= 1024;
    if (name == "VmRSS:" && in >> memory.now) memory.now *= 1024;
  }
  return memory;
}

void train(Parts& p) {
  const Task& t = p.task;
  const auto& e = *t.experiment;
  const checkpoint::State& s = p.state;
  const bool inside = s.position > 0 || s.offset > 0;
  const auto left = inside ? std::optional(p.data.batches->per_epoch(s.offset) - s.position) : std::nullopt;
  const config::Length length =
      config::length_of(e, p.data.batches->per_epoch(), config::Done::at(s.epoch, s.step, left));
  if (p.recorder) {
    show_start(t.progress->run(), e, length, p.state);
    show_model(t.progress->run(), p.model->parameters());
    t.progress->run().note_held_out(p.data.sets.rows.held_out);
    if (p.request.resumed) {
      p.recorder->resumed({.epoch = p.state.epoch,
                           .step = p.state.step,
                           .checkpoint = t.resume_from,
                           .world_size = t.world_size,
                           .changes = p.request.changes});
      if (p.ranks_before > 0 && p.ranks_before != t.world_size) {
        p.recorder->world({.epoch = p.state.epoch, .step = p.state.step, .ranks = t.world_size});
      }
    }
  }
  keep_freed_memory();
  std::optional<train::Profile> profile;
  if (p.request.profile_steps > 0) profile.emplace(profiled_rank(p), p.request.profile_steps, length.steps - s.step);
  train::Trainer trainer({.experiment = e,
                          .rank = t.rank,
                          .label = label(t),
                          .device = first_device(t),
                          .group = p.groups.main,
                          .control = p.groups.control,
                          .logical_ranks = p.generators->logical(),
                          .bytes_to_record = t.bytes_to_record,
                          .model = *p.model,
                          .optimizer = *p.optimizer,
                          .loss = train::loss_for(e, *p.model->module().ptr()),
                          .scheduler = schedule::schedulers().build(e.scheduler.name, e.scheduler.options,
                                                                    schedule::horizon_of(p.optimizer->lr(), length)),
                          .length = length,
                          .until_epoch = p.request.until_epoch,
                          .until_step = p.request.until_step,
                          .batches = *p.data.batches,
                          .cache = p.data.sets.cache.get(),
                          .preprocessing = p.data.sets.preprocessing,
                          .validation = p.data.validation,
                          .test = p.data.test,
                          .ema = p.ema ? &*p.ema : nullptr,
                          .checkpointer = *p.checkpointer,
                          .shared = *t.progress,
                          .console = record::Console(t.console),
                          .recorder = p.recorder ? &*p.recorder : nullptr,
                          .profile = profile ? &*profile : nullptr},
                         p.state);
  try {
    trainer.run();
    // The other rank throws its error. Ranks without a parent learn the reason from it.
    if (trainer.gave_up() && !t.watched) {
      throw dist::PeerLost("another rank's loss or gradient is not finite, or its data did not come");
    }
  } catch (...) {
    if (p.events) p.events->finish(/*success=*/false);
    throw;
  }
  p.memory = memory_of_process();
  p.memory.recorded = static_cast<std::int64_t>(trainer.recorded_bytes());
  // A run that was asked to stop has not ended yet.
  if (p.events && t.progress->run().ended) p.events->finish(/*success=*/true);
  if (p.recorder) p.recorder->flush();
}

// Joins the other ranks. The arguments outlive the result.
Parts join(const Task& t, const TrainRequest& request) {
  // All random draws come after this call, in the order of a Python script: data, model, training.
  prepare_process(t);
  auto generators = std::make_unique<model::Generators>(t.devices, t.experiment->logical(t.world_size) / t.world_size);
  return {.task = t,
          .request = request,
          .directory = record::RunDirectory(""),
          .data = build_data(t, *generators),
          .groups = join_groups(t),
          .generators = std::move(generators),
          .model = {},
          .optimizer = nullptr,
          .events = {},
          .recorder = {},
          .ema = {},
          .checkpointer = {},
          .state = {},
          .ranks_before = 0,
          .memory = {}};
}

void leave(const Parts& p) {
  dist::leave(p.groups.main);
  dist::leave(p.groups.control);
}

// Trains as one rank, from its fork to its end. Throws if training cannot continue.
void run(const TrainRequest& asked, const Task& given, const TakeReply&) {
  Task t = given;
  TrainRequest request = asked;
  // The log of a rank without a parent is open when the run has begun.
  if (t.watched) tell_begin(t);
  Parts p = join(t, request);
  naming_absent_ranks(t, p.groups, [&] {
    // Nodes compare their files before they fork ranks.
    require_same_terms(t, t.watched ? std::vector<record::DataFile>() : request.data_files, p.groups.control);
    if (t.begin) t.begin(t, request);
    start(p);
    train(p);
    tell_left_out(p.task, p.directory.bad_files(), p.data.sets, p.groups.main);
  });
  leave(p);
}

const bool train_registered = verbs().add<TrainRequest>(TrainRequest::kVerb, "trains as one rank", run);

// Notes how much of these files this process has mapped, and has read: the kernel counts only memory pages that were
// read.
void measure_files(const std::vector<std::string>& files, FirstSteps& memory) {
  std::set<ino_t> wanted;
  for (const std::string& file : files) {
    struct stat found {};
    if (stat(file.c_str(), &found) == 0) wanted.insert(found.st_ino);
  }
  // "7f12-7f34 r--p 00000000 08:02 135522 /data/x.npy" begins a mapping, "Size: 4 kB" and others follow.
  bool is_wanted = false;
  std::ifstream in("/proc/self/smaps");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, mode, offset, device;
    std::int64_t number = 0;
    words >> first;
    if (!first.ends_with(":")) {
      words >> mode >> offset >> device >> number;
      is_wanted = wanted.contains(static_cast<ino_t>(number));
    } else if (is_wanted && words >> number) {
      if (first == "Size:") memory.files += number * 1024;
      if (first == "Rss:") memory.files_touched += number * 1024;
    }
  }
}

// If memory runs out, the kernel ends this process first, and no other of the machine.
void end_first() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

void take_first_steps(const FirstStepsRequest& asked, const Task& t, const TakeReply& reply) {
  end_first();
  const TrainRequest request{.until_step = asked.steps};
  Parts p = join(t, request);
  start(p);
  train(p);
  measure_files(asked.files, p.memory);
  reply(config::write(p.memory));
  leave(p);
}

const bool first_steps_registered = verbs().add<FirstStepsRequest>(
    FirstStepsRequest::kVerb, "takes the first steps of a training, for their memory", take_first_steps);

}  // namespace

}  // namespace ddp::rank
