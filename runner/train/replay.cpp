#include "train/replay.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "models/model.h"

namespace ddp::train {
namespace {

// Before these steps DDP's reducer has not yet rebuilt its buckets in the order in which gradients become ready.
constexpr std::int64_t kStepsBefore = 2;
// Of texts with many lengths only the first ones are replayed.
constexpr std::size_t kMostKinds = 32;

// Names the component that does not promise the same calls in each step; "": all do.
std::string may_count_steps(const config::Experiment& e) {
  const auto lacks = [](const std::string& kind, const std::string& name) {
    return "the " + kind + " \"" + name +
           "\" may act by the number of the step: it, or a layer of it, lacks the trait \"same_calls\"";
  };
  if (!models::makes_same_calls(e.model)) return lacks("model", e.model.name);
  if (!losses().traits(e.loss.name).value("same_calls", false)) return lacks("loss", e.loss.name);
  return "";
}

}  // namespace

std::string replay_obstacle(const config::Experiment& e, const Loss& loss, c10::Device device) {
  if (e.replay == "off") return "replay = \"off\"";
  if (!device.is_cpu()) return "the model is on a GPU";
  if (e.parallel == "data_parallel") return "parallel = \"data_parallel\"";
  if (e.precision == "fp16") return "precision = \"fp16\" changes the scale of the loss";
  if (const std::string own = may_count_steps(e); !own.empty() && e.replay != "require") return own;
  if (loss.graph() != nullptr && loss.graph()->gathers) return "loss.gather waits for other ranks";
  if (e.syncs_batch_norm()) return "model.sync_batch_norm waits for other ranks";
  if (loss.divides_by_count() || e.weighs_samples()) return "the loss divides by the targets of the whole step";
  if (e.parallel != "ddp") return "";
  if (!e.distributed.gradients_are_views()) return "distributed.gradient_as_bucket_view = false";
  if (e.distributed.static_graph) return "distributed.static_graph";
  return "";
}

Replay::Replay(const TrainerParts& parts, GradientWatch* watch) : p_(parts), watch_(watch) {
  const std::string reason = replay_obstacle(parts.experiment, parts.loss, parts.device);
  if (!reason.empty()) {
    refuse(reason);
  } else {
    returned_.emplace();
  }
}

Replay::Key Replay::key_of(const Place& place, const std::vector<at::Tensor>& batch) const {
  Key key;
  key.first = {place.first, place.syncs, place.micro_batches};
  if (!place.first) {
    // An earlier micro-batch of another shape may have used other parameters.
    for (const auto& [name, parameter] : p_.model.parameters()) key.first.push_back(parameter.grad().defined());
  }
  key.second = layout_of(batch);
  return key;
}

// The players of all kinds together may keep as much memory as one recording takes.
bool Replay::has_room() const {
  std::int64_t kept = 0;
  for (const auto& [key, kind] : kinds_) kept += static_cast<std::int64_t>(kind.kept_bytes());
  return kinds_.size() < kMostKinds && kept <= p_.bytes_to_record;
}

bool Replay::begin(const Place& place, std::vector<at::Tensor> batch) {
  if (place.begins_step) ++begun_;
  kind_ = nullptr;
  const bool replays = choose(place, batch);
  if (place.syncs && p_.recorder != nullptr) {
    record::RunProgress& run = p_.shared.run();
    ++(replays ? run.replayed_steps : run.eager_steps);
  }
  return replays;
}

bool Replay::choose(const Place& place, std::vector<at::Tensor>& batch) {
  if (!reason_.empty() || begun_ <= kStepsBefore) return false;
  const Key key = key_of(place, batch);
  if (!kinds_.contains(key) && !has_room()) {
    returned_.reset();
    return false;
  }
  kind_ = &kinds_[key];
  batch_ = std::move(batch);
  if (kind_->is_trusted()) return true;
  if (!returned_) returned_.emplace();
  std::vector<at::Tensor> gradients_before;
  for (const auto& [name, parameter] : p_.model.parameters()) gradients_before.push_back(parameter.grad());
  kind_->begin({.batch = std::move(batch_),
                .parameters = &p_.model.parameters(),
                .gradients_before = std::move(gradients_before),
                .buffers = place.syncs ? p_.model.gradient_buffers() : std::vector<at::Tensor>(),
                .counts_of_use = p_.model.counts_of_use()},
               p_.model.buffers(), static_cast<std::size_t>(p_.bytes_to_record));
  return false;
}

const std::vector<at::Tensor>& Replay::forward() { return kind_->player().forward(batch_); }

void Replay::backward() {
  kind_->player().backward({.complete =
                                [this](std::size_t parameter, const at::Tensor& gradient) {
                                  if (watch_ != nullptr) watch_->look(parameter, gradient);
                                },
                            .start_sum = [this](const at::Tensor& buffer) { return p_.model.start_sum(buffer); },
                            .share_use = [this] { return p_.model.share_use(); }});
}

Replay::Window::Window(Replay& replay) {
  if (replay.kind_ != nullptr) replay.kind_->watch(recorder_);
}

void Replay::forward_done(const std::vector<at::Tensor>& outputs) {
  if (kind_ == nullptr) return;
  for (const at::Tensor& output : outputs) outputs_.emplace_back("loss", output);
  kind_->forward_done();
}

void Replay::backward_done() {
  if (kind_ == nullptr) return;
  recorded_bytes_ = std::max(recorded_bytes_, kind_->recorded_bytes());
  try {
    kind_->end(std::exchange(outputs_, {}), common_);
    if (kind_->is_trusted()) returned_.reset();
    if (p_.recorder != nullptr && kind_->is_trusted()) {
      p_.shared.run().calls_of_step = static_cast<std::int64_t>(kind_->player().calls());
      p_.shared.run().own_calls = static_cast<std::int64_t>(kind_->player().own_calls());
      p_.shared.run().unused_parameters = static_cast<std::int64_t>(kind_->player().unused().size());
    }
  } catch (const NotStatic& error) {
    if (error.has_other_bits && p_.recorder != nullptr) p_.recorder->warn(error.reason + "; no step is replayed");
    refuse(error.reason);
  }
}

void Replay::refuse(const std::string& reason) {
  reason_ = reason;
  kinds_.clear();
  common_.clear();
  returned_.reset();
  kind_ = nullptr;
  if (p_.recorder != nullptr) p_.shared.run().stop_replaying(reason);
  if (p_.experiment.replay == "require") {
    throw training_error("a training step cannot be replayed: " + reason, "replay", "--set replay=auto");
  }
}

}  // namespace ddp::train
