#include "train/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "checkpoint/everywhere.h"
#include "model/numerics.h"
#include "record/saves/retention.h"

namespace ddp::train {
namespace fs = std::filesystem;
namespace {

// The rehearsal's checkpoint is beside the others, under a name that no step has.
fs::path rehearsal_folder(const fs::path& checkpoints) { return checkpoints / ".rehearsal"; }

constexpr double kNothingSaved = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Checkpointer::Checkpointer(CheckpointerParts parts)
    : p_(std::move(parts)), best_saved_(kNothingSaved), best_before_(kNothingSaved) {
  if (p_.rank != 0) return;
  record::remove_unfinished(p_.run.checkpoints());
  if (const auto best = record::best_saved(p_.run.checkpoints(), p_.metric)) best_saved_ = best_before_ = best->value;
  // A mask of -inf is a usual buffer.
  for (const NamedTensors* of_model : {&p_.model.parameters_by_all_names(), &p_.model.buffers()}) {
    begin_with(checkpoint::kModel, *of_model);
  }
}

void Checkpointer::begin_with(const std::string& state, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!model::all_finite(tensor)) begun_with_.insert(state + "/" + name);
  }
}

std::string Checkpointer::not_finite_in(const std::string& state) const {
  const checkpoint::StateTensors tensors = p_.states.at(state)->tensors();
  for (const NamedTensors* part : {&tensors.steady, &tensors.changing}) {
    for (const auto& [name, tensor] : *part) {
      if (!model::all_finite(tensor) && !begun_with_.contains(state + "/" + name)) {
        return "\"" + name + "\" of the " + (state == checkpoint::kOptimizer ? "optimizer's state" : state);
      }
    }
  }
  return "";
}

std::string Checkpointer::not_finite() const {
  if (p_.rank != 0) return "";
  const std::string of_model = not_finite_in(checkpoint::kModel);
  return of_model.empty() ? not_finite_in(checkpoint::kOptimizer) : of_model;
}

std::map<std::string, std::unique_ptr<SavedState>> states_of(const StateParts& parts) {
  std::map<std::string, std::unique_ptr<SavedState>> states;
  for (const std::string& name : saved_states().names()) {
    auto state = saved_states().build(name, config::Value::object(), parts);
    if (state->exists()) states.emplace(name, std::move(state));
  }
  return states;
}

void Checkpointer::complete(checkpoint::State& state) const {
  checkpoint::gather_rng(p_.group, p_.generators, state);
  state.buckets = p_.model.rebuilt_buckets();
  for (const auto& [name, saved] : p_.states) saved->collect();
}

void Checkpointer::keep_document(const std::string& name, const std::string& text) {
  p_.documents.erase(name);
  if (!text.empty()) p_.documents[name] = text;
}

void Checkpointer::begin_snapshot(checkpoint::State state) {
  snapshot_.state = std::move(state);
  snapshot_.documents = p_.documents;
  for (const auto& [name, saved] : p_.states) {
    const checkpoint::StateTensors tensors = saved->tensors();
    snapshot_.bytes[name].begin(tensors.steady, tensors.changing);
  }
}

std::string Checkpointer::save(checkpoint::State state) {
  if (state.step == saved_step_) return "";
  if (p_.options.ladder.value_or(false) && saved_step_ >= 0) {
    const std::int64_t distance = state.step - saved_step_;
    spacing_ = spacing_ > 0 ? std::min(spacing_, distance) : distance;
  }
  state.spacing = spacing_;
  saved_step_ = state.step;
  const double begun = p_.rank == 0 ? p_.recorder->seconds() : 0;
  wait();
  record::SaveRecord record{
      .epoch = state.epoch_of_step(), .step = state.step, .folder = {}, .stall = 0, .reason = state.reason};
  complete(state);
  if (p_.rank != 0) return "";
  for (const auto& [name, saved] : p_.states) {
    if (std::string broken = not_finite_in(name); !broken.empty()) return broken;
  }
  count_as_best(state);
  try {
    begin_snapshot(std::move(state));
  } catch (const std::exception& error) {
    not_saved(record.step, error);
    return "";
  }
  record.stall = p_.recorder->seconds() - begun;
  awaited_since_ = std::numeric_limits<double>::infinity();
  copying_ = true;
  ready_ = true;
  in_background([this, record] { write(record); });
  return "";
}

// Called while no save is in progress, so the result of the last one is known.
void Checkpointer::count_as_best(const checkpoint::State& state) {
  if (!failure_.empty()) best_saved_ = best_before_;
  best_before_ = best_saved_;
  if (state.reason == record::SaveReason::time) return;
  if (p_.metric.is_better(state.metric, best_saved_)) best_saved_ = state.metric;
}

bool Checkpointer::improves(double metric) {
  bool better = false;
  if (p_.rank == 0) {
    const bool failed = !busy() && !failure_.empty();
    better = p_.metric.is_better(metric, failed ? best_before_ : best_saved_);
  }
  const at::Tensor mine = at::scalar_tensor(better ? 1.0 : 0.0, at::kDouble);
  return dist::all_gather(p_.group, mine).front().item<double>() != 0;
}

checkpoint::Checkpoint Checkpointer::checkpoint_to_use(bool has_validation) const {
  std::string folder;
  if (p_.rank == 0 || p_.control == nullptr) {
    const auto newest_first = record::complete_checkpoints(p_.run.checkpoints());
    if (newest_first.empty())
      throw training_error("has no complete checkpoint that can be read", p_.run.checkpoints().string());
    const auto best_first = has_validation ? record::by_metric(newest_first, p_.metric) : std::vector<record::Ranked>();
    folder = best_first.empty() ? newest_first.front().string() : best_first.front().folder.string();
  }
  return checkpoint::load_everywhere(dist::broadcast_text(p_.control, folder), p_.rank, p_.control);
}

bool Checkpointer::busy() const {
  return saving_.valid() && saving_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void Checkpointer::before_update() {
  if (!std::exchange(copying_, false)) return;
  awaited_since_ = p_.recorder->seconds();
  snapshot_.finish();
}

void Checkpointer::in_background(const std::function<void()>& work) {
  try {
    saving_ = std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    // No thread can start, for example under `ulimit -u`: training waits.
    work();
  }
}

// Runs on its own thread.
void Checkpointer::write(record::SaveRecord record) {
  try {
    snapshot_.finish();
    record.stall += std::max(0.0, p_.recorder->seconds() - awaited_since_);
    // All events before a checkpoint are in metrics.jsonl before the checkpoint exists.
    p_.recorder->flush();
    record.folder = checkpoint::save(p_.run.checkpoints(), snapshot_, [this] { p_.recorder->saving(); });
    p_.recorder->checkpoint(record);
    failure_.clear();
    remove_old(record.step);
  } catch (const std::exception& error) {
    not_saved(record.step, error);
  }
}

void Checkpointer::not_saved(std::int64_t step, const std::exception& error) {
  failure_ = error.what();
  p_.recorder->not_saved(step, failure_);
}

void Checkpointer::remove_old(std::int64_t saved) {
  try {
    if (restored_step_ && saved != *restored_step_) {
      record::give_up_after(p_.run.checkpoints(), *restored_step_, saved);
      restored_step_.reset();
    }
    record::retain(p_.run.checkpoints(), p_.options.newest_to_keep(), p_.options.keep_best);
  } catch (const std::exception& error) {
    log::warn(std::string("old checkpoints were not removed: ") + error.what());
  }
}

void Checkpointer::wait() {
  if (saving_.valid()) saving_.get();
}

void Checkpointer::finish() {
  wait();
  if (!failure_.empty()) {
    throw training_error("the last checkpoint, of step " + std::to_string(saved_step_) + ", was not saved: " + failure_,
                         "",
                         "fix the cause, then resume from the checkpoint before it: " +
                             own_command("resume " + path_word(p_.run.path())));
  }
  // If ranks were killed right after a save and restarted, old checkpoints may remain.
  if (p_.rank == 0 && restored_step_) remove_old(saved_step_);
}

void Checkpointer::restore(const checkpoint::Checkpoint& loaded) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, saved] : p_.states) {
    saved->restore(loaded.of(name), loaded.state);
    if (p_.rank == 0) begin_with(name, loaded.of(name));
  }
  checkpoint::restore_rng(p_.rank, p_.generators, loaded.state);
  saved_step_ = loaded.state.step;
  spacing_ = loaded.state.spacing;
  restored_step_ = loaded.state.step;
}

void Checkpointer::rehearse(checkpoint::State state) {
  const std::int64_t step = state.step;
  complete(state);
  const fs::path root = rehearsal_folder(p_.run.checkpoints());
  if (p_.rank == 0) {
    begin_snapshot(std::move(state));
    snapshot_.finish();
    paths::make_folders(root);
    checkpoint::save(root, snapshot_);
  }
  // Ranks must not load before rank 0 has saved.
  dist::barrier(p_.group);
  const auto loaded = checkpoint::load_everywhere(checkpoint::folder_of(root, step), p_.rank, p_.control);
  p_.model.load(loaded.of(checkpoint::kModel), root.string());
  restore(loaded);
  saved_step_ = -1;
  restored_step_.reset();
}

void Checkpointer::first_step_done() {
  if (p_.rank != 0) return;
  // The step's all-reduce came after every rank's load, so no rank still reads the folder.
  if (p_.options.rehearse) paths::remove_all(rehearsal_folder(p_.run.checkpoints()));
}

void Checkpointer::get_ready() {
  if (p_.rank != 0 || saving_.valid() || std::exchange(ready_, true)) return;
  // List the tensors on this thread, because the optimizer's first step extends its list on this thread.
  std::map<std::string, checkpoint::StateTensors> tensors;
  for (const auto& [name, saved] : p_.states) tensors[name] = saved->tensors();
  in_background([this, tensors = std::move(tensors)] {
    try {
      for (const auto& [name, of_state] : tensors) snapshot_.bytes[name].reserve(of_state.steady, of_state.changing);
    } catch (const std::exception&) {
      // The next save will fail for the same reason and report it.
    }
  });
}

}  // namespace ddp::train
