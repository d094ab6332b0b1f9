#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/store.h"
#include "config/experiment.h"
#include "dist/parallel/parallel.h"
#include "model/generators.h"
#include "record/metrics/run_recorder.h"
#include "record/run_directory.h"
#include "train/states/saved_state.h"

namespace ddp::train {

// The state that a Checkpointer saves, and its destination.
struct CheckpointerParts {
  record::RunDirectory run;
  config::Checkpoint options;
  config::Metric metric;  // ranks the checkpoints: Experiment::best_metric()
  int rank = 0;
  model::Generators& generators;
  dist::Group group;
  dist::Group control;  // null if all ranks see the folder; else only rank 0 does
  dist::Parallel& model;
  std::map<std::string, std::unique_ptr<SavedState>> states;  // by name; only the states of this run
  std::map<std::string, std::string> documents;               // text files of each checkpoint, by file name
  record::RunRecorder* recorder = nullptr;                    // on rank 0
};

// Saves and restores the state of a run. Only rank 0 writes; the other ranks send it the state that only they have.
//
// A save first copies the state in memory, while the next step runs forward and backward, which change no weights. It
// then writes the copy while training continues. Training waits in two places: at the optimizer until the copy is
// complete, and at the next save until the previous one has ended. A failed save is reported and training continues,
// because the next save may succeed.
class Checkpointer {
 public:
  explicit Checkpointer(CheckpointerParts parts);

  // Starts a save, unless this step was already saved. Adds generators and buckets to `state`. Once the checkpoint is
  // complete, removes the checkpoints that retention does not keep. Returns what is not finite in the state, as
  // not_finite() does; nothing is saved then. Collective.
  [[nodiscard]] std::string save(checkpoint::State state);
  // Returns the first parameter, buffer or state of the optimizer that holds NaN or inf, in words, unless it did when
  // training started; "": none, or this is not rank 0.
  std::string not_finite() const;
  // Waits until the copy in memory is complete. Call before the optimizer changes the weights.
  void before_update();
  // Waits for the save in progress to end, successful or not.
  void wait();
  // Waits at the end of a run. Throws ddp::Error (training) if the last save failed.
  void finish();

  // Tells whether a checkpoint with this metric value would be the best saved one. Returns rank 0's answer on every
  // rank, because only rank 0 knows which saves have failed. Collective.
  bool improves(double metric);
  // Returns the checkpoint that `eval` and `predict` use too: the best one by the metric if the run has a validation,
  // and the newest one if it has none, or if no checkpoint has a value of the metric. Collective.
  checkpoint::Checkpoint checkpoint_to_use(bool has_validation) const;
  // Tells whether a save or get_ready() is in progress. Rank 0 only.
  bool busy() const;

  // Gives the next saves this text file; "": it has none of this name.
  void keep_document(const std::string& name, const std::string& text);

  // Restores the states and generators of a loaded checkpoint. The model's weights were loaded before training started.
  void restore(const checkpoint::Checkpoint& loaded);

  // The tutorial's demo_checkpoint: rank 0 saves, all ranks wait, then every rank loads onto its own device.
  // first_step_done() removes the folder. Collective.
  void rehearse(checkpoint::State state);
  void first_step_done();
  // Allocates the memory of the copy on a thread, unless it is allocated. Call some time before a save, but after the
  // first step, which creates the optimizer state.
  void get_ready();

 private:
  // Gathers on rank 0 the state that only other ranks have. Collective.
  void complete(checkpoint::State& state) const;
  // Rank 0 only.
  void begin_snapshot(checkpoint::State state);
  std::string not_finite_in(const std::string& state) const;
  void begin_with(const std::string& state, const NamedTensors& tensors);
  void in_background(const std::function<void()>& work);
  void write(record::SaveRecord record);
  void not_saved(std::int64_t step, const std::exception& error);
  void count_as_best(const checkpoint::State& state);
  void remove_old(std::int64_t saved);

  CheckpointerParts p_;
  std::int64_t saved_step_ = -1;               // step of the save that started last
  std::int64_t spacing_ = 0;                   // smallest distance of saves with a ladder
  std::optional<std::int64_t> restored_step_;  // step of the restored checkpoint, until the next save
  checkpoint::Snapshot snapshot_;              // on rank 0
  bool copying_ = false;                       // false once training has waited for the copy
  std::atomic<double> awaited_since_{0};       // when training began to wait for the copy, in the recorder's seconds
  std::string failure_;                        // why the last save failed; empty: it succeeded
  double best_saved_;                          // metric value if the last save succeeds; NaN: none saved
  double best_before_;                         // metric value if the last save fails
  std::set<std::string> begun_with_;           // "STATE/NAME" of tensors that held NaN or inf at the start
  bool ready_ = false;                         // the memory of the copy is allocated
  std::future<void> saving_;                   // a save or get_ready(); last, since it uses the members above
};

// The states of a run, by name.
std::map<std::string, std::unique_ptr<SavedState>> states_of(const StateParts& parts);

}  // namespace ddp::train
