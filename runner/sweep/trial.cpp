#include "sweep/trial.h"

#include <cmath>
#include <fstream>

#include "config/json_text.h"
#include "launch/training.h"
#include "record/atomic_file.h"
#include "record/return_point.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostSummaryBytes = 16u << 20;

// Puts the GPUs that the trial has in place of those that the file asks for, in the same groups.
void place(config::Experiment& e, const Share& share) {
  if (share.gpus.empty()) return;
  std::size_t next = 0;
  if (!e.device_pool.is_array()) {
    e.device_pool = share.gpus;
    return;
  }
  for (config::Value& entry : e.device_pool) {
    if (entry.is_array()) {
      for (config::Value& device : entry) device = share.gpus.at(next++);
    } else {
      entry = share.gpus.at(next++);
    }
  }
}

// The last line that the trial's process has printed.
std::string last_words(const record::RunDirectory& trial) {
  std::ifstream log(trial_log(trial));
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it ended without a word" : last;
}

TrialState read_summary(const std::string& text, const std::string& metric) {
  const config::Value json = config::parse_value(text);
  TrialState state{.status = json.at("status").get<std::string>(),
                   .epochs = config::as_count(json.at("epochs")),
                   .seconds = json.at("seconds").get<double>()};
  const auto& reached = json.at("final");
  if (const auto found = reached.find(metric); found != reached.end() && found->is_number()) {
    if (const double value = found->get<double>(); std::isfinite(value)) state.metric = value;
  }
  if (const auto& error = json.at("error"); error.is_object()) state.error = error.at("what").get<std::string>();
  return state;
}

}  // namespace

fs::path trial_log(const record::RunDirectory& trial) { return trial.log(0).parent_path() / "trial.log"; }

int train_trial(const Work& work, const search::Move& move, Share share, TrialProgress& progress) {
  const auto directory = record::RunDirectory::trial(work.directory.path(), move.trial);
  FileDescriptor lock = directory.lock();
  const bool begun = directory.begun();
  config::Loaded loaded = begun ? config::load(directory.config(), {}, work.loaded.components())
                                : work.loaded.trial(work.search.point(move.trial));
  place(loaded.experiment, share);
  record::ReturnPoint point;
  std::optional<std::int64_t> global_batch_size;
  if (begun) point.checkpoint = record::newest_whole(directory.checkpoints());
  if (!point.checkpoint.empty()) {
    point.position = record::position_of(point.checkpoint);
    global_batch_size = point.position.global_batch_size;
  }
  const launch::Launch launch;
  const launch::Plan plan = launch::make_plan(loaded, work.gpus, launch, global_batch_size);
  const bool there = move.epochs > 0 && point.position.epoch >= move.epochs;
  if (!point.checkpoint.empty() && (there || launch::has_done_all(plan.experiment, point.position))) {
    launch::settle(plan, directory, point.position);
    return 0;
  }
  if (begun) record::go_back(directory, point);
  launch::Nodes nodes(launch, {}, std::chrono::milliseconds(0));
  launch::Start start{.resume_from = point.checkpoint, .init_from = {}};
  if (point.checkpoint.empty()) start.init_from = launch::weights_of(loaded);
  return launch::train({.plan = plan,
                        .library = work.library,
                        .nodes = nodes,
                        .launch = launch,
                        .meeting = launch::make_meeting_point(plan, launch, nodes.own_ip()),
                        .directory = directory,
                        .lock = std::move(lock),
                        .experiment_folder = {},
                        .resumed = begun,
                        .start = start,
                        .until_epoch = move.epochs,
                        .device_locks = std::move(share.locks),
                        .git = work.git,
                        .watch = [&progress](const record::RunProgress& run) {
                          progress.step = run.step.load();
                          progress.steps = run.steps_in_all.load();
                          progress.loss = run.loss.load();
                        }});
}

TrialState state_of(const record::RunDirectory& trial, const std::string& metric) {
  std::error_code none;
  if (!fs::exists(trial.summary(), none)) return {.status = "failed", .error = last_words(trial)};
  try {
    TrialState state = read_summary(record::read_text(trial.summary(), kMostSummaryBytes), metric);
    if (state.status == "running") state.error = last_words(trial);
    return state;
  } catch (const std::exception& error) {
    return {.status = "failed", .error = "its summary.json is damaged: " + std::string(error.what())};
  }
}

}  // namespace ddp::sweep
