#include "runs/train.h"

#include <chrono>
#include <csignal>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "launch/cluster/node_watch.h"
#include "launch/start/probe.h"
#include "launch/watch/supervisor.h"
#include "record/file/atomic_file.h"
#include "record/liveness.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/metrics_log.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/saves/retention.h"
#include "runs/mirror.h"
#include "runs/notify.h"
#include "runs/summary.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

constexpr int kSignalled = 128;  // exit codes above: stopped by a signal

std::string count(int restarts) { return std::to_string(restarts) + (restarts == 1 ? " restart" : " restarts"); }

// A run whose ranks this process forks, as node 0: one group of ranks after another, until a group succeeds or must not
// be restarted.
class ForkedRun {
 public:
  ForkedRun(Run& run, launch::Nodes& nodes);
  // Trains to the end. Returns the program's exit code.
  int train();

 private:
  // Opens the run in an order that writes nothing before all nodes are ready.
  void open();
  Ending to_its_end();
  // Lets the mirror have the end of the run, and runs the user's command.
  void follow_up(bool stopped);
  // Runs a group from the forks to the last rank's end. Returns whether the ranks are to be restarted.
  bool run_group(record::SharedProgress& shared, launch::Outcome& outcome);
  launch::Job job() const;
  void show_start(record::RunProgress& progress) const;
  void name_node(launch::Outcome& outcome) const;

  // Is it a part of a sweep or of an audit?
  bool is_part() const { return run_.until_epoch > 0 || run_.until_step > 0 || standing_.directory.is_trial(); }
  // An elastic run goes on without ranks and nodes that are lost, and takes nodes back.
  bool is_elastic() const { return run_.plan.launch.elastic; }
  // Ends the group if nodes that are back make a larger world, and their checkpoint is there. Call it regularly.
  void take_back(launch::Supervisor& supervisor, const record::RunProgress& progress);
  // Notes what is lost. Returns whether another world shall go on.
  bool note_loss(const record::Failure& failure);
  // Chooses the ranks of the next group. Returns false if none are left.
  bool resize(launch::Outcome& outcome);

  // Returns whether to restart a group that ended with this outcome. If all restarts are used up, the failure says so.
  bool wants_restart(launch::Outcome& outcome, record::SharedProgress& shared) const;
  // Goes back to the newest complete checkpoint, in the same run directory, and makes a new meeting point. `progress`:
  // of the failed ranks. Call it when no rank runs. Returns false if a restart is impossible; the failure then says
  // why.
  bool prepare_restart(launch::Outcome& outcome, const record::RunProgress& progress);
  void require_same_data() const;
  void note_restart(const record::Failure& failure);
  void note_world(const record::Failure& failure);
  std::string start_in_words() const;
  // Writes the number of the run's steps for other terminals, once the ranks know it.
  void note_stuck(const std::optional<std::string>& stuck);
  void note_length(const record::RunProgress& progress);
  // Stops the ranks if another terminal asks for it, and shows that this process is alive.
  void face_others(launch::Supervisor& supervisor);

  Run& run_;
  launch::Nodes& nodes_;
  launch::MeetingPoint meeting_;  // of the next ranks
  std::vector<FileDescriptor> device_locks_;
  Standing& standing_;  // another one after a restart
  record::Summary summary_;
  std::optional<record::StopRequests> requests_;
  std::optional<Mirror> mirror_;
  std::chrono::steady_clock::time_point shown_alive_ = std::chrono::steady_clock::now();
  int restarts_ = 0;
  std::optional<GitState> git_;

  const launch::Plan whole_;                      // with all ranks
  launch::World world_;                           // of the group
  std::vector<int> lost_here_ = {};               // those of this machine's ranks that are lost
  bool other_world_ = false;                      // the next group has other ranks
  bool takes_back_ = false;                       // the group ended for nodes that are back
  std::optional<std::int64_t> returned_at_ = {};  // the newest checkpoint's step when nodes were back
};

// Returns the folder of the run whose copies of graphs the experiment reads; "": none.
std::string run_of_graphs(const config::Experiment& e) {
  for (const config::Component* part : {&e.model, &e.loss}) {
    if (!part->copies.empty()) return fs::path(part->copies.begin()->second).parent_path().parent_path();
  }
  return "";
}

ForkedRun::ForkedRun(Run& run, launch::Nodes& nodes)
    : run_(run),
      nodes_(nodes),
      standing_(run.standing),
      whole_(run.plan),
      world_{.nodes = run.plan.launch.nodes, .ranks_here = run.plan.ranks_here()} {}

void ForkedRun::open() {
  const config::Experiment& e = run_.plan.experiment;
  const Work work{
      .experiment = config::to_toml(e), .sources = record::hashes_of_texts(e), .graphs_of = run_of_graphs(e)};
  nodes_.welcome(config::written(work),
                 nodes_.all().empty() ? std::vector<record::DataSample>() : record::content_samples(run_.data.files()));
  meeting_ = launch::make_meeting_point(run_.plan, nodes_.own_ip());
  device_locks_ = run_.device_locks ? std::move(*run_.device_locks) : lock_devices(run_.plan);
  run_.open(standing_);
  standing_.directory.keep_open();
  record::forget_stop_request(standing_.directory);
  requests_.emplace(standing_.directory);
  if (!is_part()) mirror_.emplace(standing_.directory, e);
}

int ForkedRun::train() {
  open();
  const auto graphs = read_graphs(run_.library, run_.plan, run_.data);
  summary_ = begin_run(run_.plan, graphs, standing_.directory, nodes_.devices());
  if (run_.begun) run_.begun(standing_.directory);
  const launch::BlockedStopSignals signals;  // one between two groups must reach the second group, a last one notify()
  try {
    const Ending ending = to_its_end();
    nodes_.end(ending.exit_code, ending.why);
    follow_up(/*stopped=*/ending.exit_code > kSignalled);
    return ending.exit_code;
  } catch (const Error& error) {
    summary_.status = "failed";
    summary_.error = {.rank = -1, .what = error.what(), .log = ""};
    try {
      record::write_summary(standing_.directory, summary_);
    } catch (const Error&) {  // the first error tells
    }
    nodes_.end(error.exit_code(), error.what());
    follow_up(/*stopped=*/false);
    throw;
  }
}

void ForkedRun::follow_up(bool stopped) {
  if (is_part()) return;
  if (mirror_) mirror_->finish(stopped);
  // The command may resume the run, or use its devices.
  standing_.lock.close();
  device_locks_.clear();
  runs::notify(run_.plan.experiment.notify, {.folder = standing_.directory.path(),
                                             .name = summary_.name,
                                             .status = summary_.status,
                                             .reason = summary_.error ? summary_.error->what : ""});
}

Ending ForkedRun::to_its_end() {
  for (;;) {
    // New for each group.
    record::SharedProgress shared(run_.plan.world_size());
    show_start(shared.run());
    launch::Outcome outcome;
    if (run_group(shared, outcome) && prepare_restart(outcome, shared.run())) continue;
    summary_.git = git_ ? git_->result() : *run_.git;
    add_progress(summary_, shared.run(), standing_.directory, run_.plan.experiment);
    Ending ending =
        conclude(standing_.directory, summary_, shared.run(), outcome.failure, outcome.stop_signal, run_.plan.launch);
    const bool no_data = outcome.failure && outcome.failure->rank >= 0 && shared.rank(outcome.failure->rank).no_data;
    if (no_data) ending.exit_code = 2;  // as when the data of the try before the run do not come
    return ending;
  }
}

bool ForkedRun::run_group(record::SharedProgress& shared, launch::Outcome& outcome) {
  nodes_.start(meeting_.address, world_);
  if (other_world_) {
    const record::Summary now = summary_of(run_.plan, nodes_.devices());
    summary_.world_size = now.world_size;
    summary_.devices = now.devices;
  }
  const launch::Job work = job();
  launch::Supervisor supervisor(shared, run_.plan.experiment, work.saves);
  start_ranks(work, meeting_, nodes_.all().empty(), supervisor, shared);
  launch::NodeWatch others(nodes_, supervisor, shared, work);
  supervisor.watch_over([&] { note_length(shared.run()); });
  supervisor.watch_over([&] { face_others(supervisor); });
  supervisor.watch_over([&] { note_stuck(supervisor.stuck()); });
  if (mirror_) supervisor.watch_over([&] { mirror_->keep_up(); });
  if (run_.watch) supervisor.watch_over([&] { run_.watch(shared.run()); });
  if (!git_ && !run_.git) git_.emplace(run_.experiment_folder);
  if (git_) supervisor.watch_also(git_->output(), [this] { return git_->read(); });
  if (is_elastic()) supervisor.watch_over([&] { take_back(supervisor, shared.run()); });
  outcome = supervisor.watch();
  other_world_ = is_elastic() && outcome.failure && outcome.stop_signal == 0 && note_loss(*outcome.failure);
  name_node(outcome);
  return (other_world_ || wants_restart(outcome, shared)) && others.regroup(outcome) &&
         (!other_world_ || resize(outcome));
}

void ForkedRun::take_back(launch::Supervisor& supervisor, const record::RunProgress& progress) {
  nodes_.talk_to_returned();
  const bool ends = progress.steps_in_all > 0 && progress.step >= progress.steps_in_all;
  if (ends || supervisor.outcome().stop_signal != 0 || supervisor.outcome().failure) return;
  const int here = whole_.ranks_here() - static_cast<int>(lost_here_.size());
  const launch::World larger =
      launch::largest_world(*whole_.experiment.logical_ranks, nodes_.available(here, /*with_returned=*/true));
  if (larger.ranks() <= world_.ranks()) return returned_at_.reset();
  const std::int64_t saved = record::step_of(record::latest_checkpoint(standing_.directory.checkpoints()));
  if (!returned_at_) returned_at_ = saved;
  if (saved == *returned_at_) return;
  takes_back_ = true;
  supervisor.fail({.rank = -1, .what = "a larger group begins", .log = ""});
}

bool ForkedRun::note_loss(const record::Failure& failure) {
  if (takes_back_) return true;
  // If a rank failed and was not killed, a node that is silent already may be why.
  const launch::Heartbeat heartbeat(whole_.experiment.distributed.timeout);
  const std::string gone = nodes_.forget_gone(failure.lost ? heartbeat.limit : heartbeat.worrying());
  if (failure.rank < 0) return !gone.empty();
  const int place = failure.rank / world_.ranks_here;
  launch::Node* const node = nodes_.at(place);
  if (place > 0 && node == nullptr) return true;  // its node is gone
  if (!failure.lost) return false;
  std::vector<int>& lost = node != nullptr ? node->lost : lost_here_;
  const int all = node != nullptr ? static_cast<int>(node->devices.size()) : whole_.ranks_here();
  lost.push_back(launch::not_lost(all, lost, world_.ranks_here).at(failure.rank % world_.ranks_here));
  return true;
}

bool ForkedRun::resize(launch::Outcome& outcome) {
  if (const std::string back = nodes_.take_in(); !back.empty()) {
    if (takes_back_) outcome.failure->what.clear();
    outcome.failure->what += (outcome.failure->what.empty() ? "" : "; ") + back + " is back";
  }
  takes_back_ = false;
  returned_at_.reset();
  const int here = whole_.ranks_here() - static_cast<int>(lost_here_.size());
  if (here == 0) {
    outcome.failure->what += " (no other rank is left on this machine)";
    return false;
  }
  world_ = launch::largest_world(*whole_.experiment.logical_ranks, nodes_.available(here, /*with_returned=*/false));
  run_.plan = whole_.in(world_, 0, lost_here_);
  return true;
}

void ForkedRun::note_length(const record::RunProgress& progress) try {
  if (progress.steps_in_all == summary_.total_steps) return;
  summary_.total_steps = progress.steps_in_all;
  record::write_summary(standing_.directory, summary_);
} catch (const Error&) {  // a full disk: the end of the run tells
}

// `stuck`: as Verdict::stuck() says it.
void ForkedRun::note_stuck(const std::optional<std::string>& stuck) try {
  if (stuck.value_or("") == summary_.stuck) return;
  summary_.stuck = stuck.value_or("");
  record::write_summary(standing_.directory, summary_);
} catch (const Error&) {  // a full disk: the next look tries again
  summary_.stuck.clear();
}

void ForkedRun::face_others(launch::Supervisor& supervisor) {
  constexpr std::chrono::seconds kOften{record::kSilence / 5};
  if (const auto request = requests_->hear()) supervisor.hear(SIGINT, *request == record::StopRequest::at_once);
  if (const auto now = std::chrono::steady_clock::now(); now - shown_alive_ > kOften) {
    record::note_alive(standing_.directory);
    shown_alive_ = now;
  }
}

// A rank's output goes to its log.
launch::Job ForkedRun::job() const {
  // The ranks keep the lock: it is released when the last writer of the run ends.
  std::vector<int> kept = run_.data.kept();
  kept.push_back(standing_.lock.get());
  for (const FileDescriptor& lock : device_locks_) kept.push_back(lock.get());
  rank::Task task{.held_data = run_.data.file()};
  rank::TrainRequest request{.data_files = run_.data.files(),
                             .until_epoch = run_.until_epoch,
                             .until_step = run_.until_step,
                             .profile_steps = run_.profile_steps};
  standing_.tell(task, request);
  return {.plan = run_.plan,
          .as_rank = [this, request](const rank::Task& rank) { return run_.library.serve(rank, request); },
          .task = std::move(task),
          .kept = std::move(kept),
          .output =
              [this](int rank) {
                const std::string log = standing_.directory.log(rank).string();
                return launch::RankOutput{.log = log, .name = log};
              }};
}

void ForkedRun::show_start(record::RunProgress& progress) const {
  remember_epochs(progress, standing_.directory, run_.plan.experiment);
  progress.step = standing_.position.step;
  progress.epochs_done = standing_.position.epoch;
  progress.seconds = standing_.position.seconds;
}

// On several nodes a rank's number does not say where to look.
void ForkedRun::name_node(launch::Outcome& outcome) const {
  if (!outcome.failure || outcome.failure->rank < 0 || nodes_.all().empty()) return;
  auto& what = outcome.failure->what;
  what = "on " + nodes_.name_of(outcome.failure->rank / run_.plan.ranks_here()) + ": " + what;
}

bool ForkedRun::wants_restart(launch::Outcome& outcome, record::SharedProgress& shared) const {
  const int most = run_.plan.launch.max_restarts;
  // If no rank is to blame, a machine or the network between machines failed.
  if (!outcome.failure || outcome.failure->rank < 0 || outcome.stop_signal != 0 || most == 0) return false;
  for (int r = 0; r < shared.ranks(); ++r) {
    if (shared.rank(r).no_restart) return false;
  }
  if (restarts_ < most) return true;
  outcome.failure->what += " (after " + count(restarts_) + ", as many as --max-restarts allows)";
  return false;
}

bool ForkedRun::prepare_restart(launch::Outcome& outcome, const record::RunProgress& progress) try {
  const bool resumed = standing_.has_checkpoint();
  const fs::path checkpoints = standing_.directory.checkpoints();
  standing_.checkpoint = record::newest_whole(checkpoints);
  standing_.position = {};
  if (standing_.has_checkpoint()) standing_.position = record::position_of(standing_.checkpoint);
  standing_.finished = (progress.steps_in_all > 0 && standing_.position.step >= progress.steps_in_all) ||
                       has_ended(run_.plan.experiment, standing_.position);
  if (!standing_.has_checkpoint() && resumed) {
    throw training_error("the checkpoints that it resumed from are gone", checkpoints.string());
  }
  require_same_data();
  if (standing_.has_checkpoint()) {
    record::use_graphs_of(standing_.directory, run_.plan.experiment);
  } else {
    record::use_first_graphs_of(standing_.directory, run_.plan.experiment);
  }
  // metrics.jsonl has a line for the restart.
  standing_.continues = false;
  standing_.changes = nullptr;
  go_back(standing_, run_.data.files());
  // The old meeting point is released first: the new one may have the same address.
  meeting_ = {};
  meeting_ = make_meeting_point(run_.plan, nodes_.own_ip());
  if (other_world_) {
    note_world(*outcome.failure);
  } else {
    note_restart(*outcome.failure);
  }
  return true;
} catch (const Error& error) {
  outcome.failure->what += "\n  and the ranks cannot be started again: " + std::string(error.what());
  return false;
}

// Throws ddp::Error (training) if the data files have changed since the run began. Data that were read into memory
// before the first start stay valid even if their files change.
void ForkedRun::require_same_data() const {
  const launch::Plan& plan = run_.plan;
  if (standing_.checkpoint.empty() || plan.holds_data) return;
  const auto changed = record::data_difference(run_.data.files(), record::data_files(plan.experiment));
  if (changed.path.empty()) return;
  throw training_error(changed.what, changed.path,
                       "restore the files that the run was trained with, or continue with these: " +
                           own_command("resume " + path_word(standing_.directory.path()) + " --data-changed"));
}

// "after step 96, from checkpoints/step-00000096"
std::string ForkedRun::start_in_words() const {
  if (standing_.checkpoint.empty()) return "from the start: nothing is saved yet";
  return "after step " + std::to_string(standing_.position.step) + ", from " +
         record::name_in_run(standing_.checkpoint);
}

void ForkedRun::note_world(const record::Failure& failure) {
  const record::WorldRecord world{
      .epoch = standing_.position.epoch,
      .step = standing_.position.step,
      .ranks = run_.plan.world_size(),
      .reason = (failure.rank < 0 ? "" : "rank " + std::to_string(failure.rank) + ": ") + failure.what};
  record::append_line(standing_.directory.metrics(), record::to_line(world, standing_.position.seconds));
  log::warn(in_words(failure, standing_.directory, summary_) + "\n  the run goes on with " +
            std::to_string(world.ranks) + (world.ranks == 1 ? " rank, " : " ranks, ") + start_in_words());
}

void ForkedRun::note_restart(const record::Failure& failure) {
  const auto& at = standing_.position;
  ++restarts_;
  ++summary_.restarts;
  record::write_summary(standing_.directory, summary_);
  const record::RestartRecord restart{.epoch = at.epoch,
                                      .step = at.step,
                                      .restart = summary_.restarts,
                                      .rank = failure.rank,
                                      .cause = failure.what,
                                      .checkpoint = standing_.checkpoint};
  // The ranks that wrote metrics.jsonl have ended.
  record::append_line(standing_.directory.metrics(), record::to_line(restart, at.seconds));
  log::warn(in_words(failure, standing_.directory, summary_) + "\n  restart " + std::to_string(restarts_) + " of " +
            std::to_string(run_.plan.launch.max_restarts) + ": all ranks start again " + start_in_words());
}

}  // namespace

int train(Run run, launch::Nodes* nodes) {
  return nodes != nullptr ? ForkedRun(run, *nodes).train() : train_launched(run);
}

void settle(const launch::Plan& plan, const Standing& s) {
  if (record::last_summary(s.directory).value("status", config::Value()) == "completed") return;
  record::Summary summary = summary_of(plan, {});
  keep_history(summary, s.directory);
  record::SharedProgress shared(plan.world_size());
  auto& run = shared.run();
  remember_epochs(run, s.directory, plan.experiment);
  run.epochs_done = s.position.epoch;
  run.step = s.position.step;
  run.seconds = s.position.seconds;
  const auto rows = s.has_checkpoint() ? record::rows_of_checkpoint(s.checkpoint) : std::nullopt;
  if (rows) run.note_held_out(rows->held_out);
  add_progress(summary, run, s.directory, plan.experiment);
  summary.status = s.finished ? "completed" : "interrupted";
  if (s.position.ended_by != record::kAllSteps) summary.stopped_by = s.position.ended_by;
  record::write_summary(s.directory, summary);
}

}  // namespace ddp::runs
