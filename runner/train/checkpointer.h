#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/store.h"
#include "config/experiment.h"
#include "dist/parallel/parallel.h"
#include "record/metrics/run_recorder.h"
#include "train/states/saved_state.h"

namespace ddp::train {

// Whose state it is, and where it goes.
struct CheckpointerParts {
  std::filesystem::path folder;  // checkpoints/ of the run
  config::Checkpoint options;
  config::Metric metric;  // what best means: Experiment::best_metric()
  int rank = 0;
  std::vector<std::string> devices;
  dist::Group group;
  dist::Group control;  // where rank 0 alone sees the folder; else null
  dist::Parallel& model;
  std::map<std::string, std::unique_ptr<SavedState>> states;  // by name: those that this run has
  std::map<std::string, std::string> documents;               // texts that each checkpoint holds, by file name
  record::RunRecorder* recorder = nullptr;                    // on rank 0
};

// Saves a run's state and takes it back. Rank 0 alone writes; the others send what only they know.
//
// What is saved is copied in memory while the next step runs forward and backward, which change no weights, and written
// while training goes on. It waits only where it is at the optimizer before all is copied, or at the next save before
// this one has ended. A save that fails is told, and training goes on: the next one may succeed.
class Checkpointer {
 public:
  explicit Checkpointer(CheckpointerParts parts);

  // Begins to save the state, unless that of its step was saved; what retention does not keep goes when it is there.
  // `state` is completed with generators and buckets. Collective.
  void save(checkpoint::State state);
  // Returns once what is being saved is copied. To be called before the optimizer changes it.
  void before_update();
  // Waits for what is being saved, whether that succeeds or not.
  void wait();
  // The same at the end of a run. Throws ddp::Error (training) where the last save failed.
  void finish();

  // Would a checkpoint with this value of the metric be the best one that is saved? Rank 0's answer on every rank,
  // since rank 0 alone knows which saves have failed. Collective.
  bool improves(double metric);
  // Returns the best checkpoint by the metric, or the newest one where none has a value of it. Collective.
  checkpoint::Checkpoint best() const;
  // Is something being saved, or being got ready? For rank 0.
  bool busy() const;

  // Puts the states and generators of a loaded checkpoint in place. The weights went into the model before the ranks
  // started.
  void restore(const checkpoint::Checkpoint& loaded);

  // The tutorial's demo_checkpoint: rank 0 saves, all wait, every rank loads onto its own device.
  // The folder goes after the first step. Collective.
  void rehearse(checkpoint::State state);
  void first_step_done();
  // Takes the memory to save from, on a thread, unless it is there. To be called after the first step, some time before
  // a save: what will be saved is there then.
  void get_ready();

 private:
  // Brings to rank 0 what only other ranks know. Collective.
  void complete(checkpoint::State& state) const;
  // On rank 0.
  void begin_snapshot(checkpoint::State state);
  void in_background(const std::function<void()>& work);
  void write(record::SaveRecord record);
  void not_saved(std::int64_t step, const std::exception& error);
  void count_as_best(const checkpoint::State& state);
  void remove_old(std::int64_t saved);

  CheckpointerParts p_;
  std::int64_t saved_step_ = -1;              // the step whose save was begun last
  std::optional<std::int64_t> went_back_to_;  // the step it was restored from, until the first save after that
  checkpoint::Snapshot snapshot_;             // on rank 0
  bool copying_ = false;                      // as far as training knows
  std::atomic<double> awaited_since_{0};      // when training came to wait for the copy, in the recorder's seconds
  std::string failure_;                       // why the last save failed; empty: it did not
  double best_saved_;                         // of the metric, if the last save succeeds; NaN: none is saved
  double best_before_;                        // the same if it fails
  bool ready_ = false;                        // the memory to save from has been taken
  std::future<void> saving_;                  // or getting ready for it; last: it works with what is above
};

// The states of a run, by name.
std::map<std::string, std::unique_ptr<SavedState>> states_of(const StateParts& parts);

}  // namespace ddp::train
