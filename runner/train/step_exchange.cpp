#include "train/step_exchange.h"

#include <sched.h>
#include <algorithm>
#include <cmath>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include "model/numerics.h"

namespace ddp::train {
namespace {

class SharedMemoryExchange : public StepExchange {
 public:
  SharedMemoryExchange(record::SharedProgress& shared, int rank, bool posts_late, bool as_tree)
      : shared_(shared), rank_(rank), posts_late_(posts_late), as_tree_(as_tree) {}

  void begin(std::int64_t step) override {
    step_ = step;
    entry_of(rank_).bad_gradient.store(record::LossEntry::kNone, std::memory_order_relaxed);
  }

  void gradient_not_finite(std::size_t parameter) override {
    entry_of(rank_).bad_gradient.store(static_cast<std::int64_t>(parameter), std::memory_order_relaxed);
    shared_.not_finite(step_).store(step_, std::memory_order_relaxed);
  }

  void post(const LossSum& loss) override {
    auto& entry = entry_of(rank_);
    entry.loss_sum = loss.sum;
    entry.loss_weight = loss.weight;
    entry.samples = loss.samples;
    entry.scalars = loss.scalars.size();
    std::copy(loss.scalars.begin(), loss.scalars.end(), entry.scalar_sums);
    if (!loss.finite()) shared_.not_finite(step_).store(step_, std::memory_order_relaxed);
    entry.step.store(step_, std::memory_order_release);
  }

  std::optional<NotFinite> not_finite() override {
    // Ranks on a CPU have posted their losses and looked at their gradients before they joined the all-reduce.
    if (posts_late_) {
      for (int r = 0; r < shared_.ranks(); ++r) wait_for(r);
    }
    if (shared_.not_finite(step_).load(std::memory_order_relaxed) != step_) return {};
    for (int r = 0; r < shared_.ranks(); ++r) {
      if (!std::isfinite(entry_of(r).loss_sum)) return NotFinite{.rank = r};
    }
    for (int r = 0; r < shared_.ranks(); ++r) {
      const std::int64_t bad = entry_of(r).bad_gradient.load(std::memory_order_relaxed);
      if (bad != record::LossEntry::kNone) return NotFinite{.rank = r, .parameter = static_cast<std::size_t>(bad)};
    }
    return {};
  }

  LossSum collect() override {
    std::vector<LossSum> of_ranks;
    for (int r = 0; r < shared_.ranks(); ++r) {
      wait_for(r);
      const auto& entry = entry_of(r);
      of_ranks.push_back({.sum = entry.loss_sum,
                          .weight = entry.loss_weight,
                          .samples = entry.samples,
                          .scalars = {entry.scalar_sums, entry.scalar_sums + entry.scalars}});
    }
    return total_of(std::move(of_ranks), as_tree_);
  }

  bool stop_agreed(bool more) override {
    auto& stop_after = shared_.stop_after_step();
    // Rank 0 chooses the next step, because no rank can have finished that step: its all-reduce needs rank 0.
    if (rank_ == 0 && shared_.stop_requested() && stop_after == 0 && more) stop_after = step_ + 1;
    return stop_after != 0 && step_ >= stop_after;
  }

  bool end_agreed(bool wanted) override {
    auto& end_after = shared_.end_after_step();
    // Rank 0 chooses the next step, as in stop_agreed().
    if (rank_ == 0 && wanted && end_after == 0) end_after = step_ + 1;
    return end_after != 0 && step_ >= end_after;
  }

  bool save_agreed(bool wanted) override {
    auto& save_after = shared_.save_after_step();
    if (save_after == step_) return true;
    // Rank 0 chooses the next step, as in stop_agreed(). It must not replace the current step if it chose that one:
    // another rank may not have read it yet.
    if (rank_ == 0 && wanted) save_after = step_ + 1;
    return false;
  }

 private:
  void wait_for(int rank) {
    while (entry_of(rank).step.load(std::memory_order_acquire) != step_) sched_yield();
  }
  record::LossEntry& entry_of(int rank) { return shared_.rank(rank).losses[record::loss_place(step_)]; }

  record::SharedProgress& shared_;
  const int rank_;
  const bool posts_late_;
  const bool as_tree_;
  std::int64_t step_ = 0;
};

// For ranks without shared progress: on several nodes, or started separately.
class Gathered : public StepExchange {
 public:
  Gathered(record::SharedProgress& shared, int rank, dist::Group control, bool posts_late, bool as_tree,
           const NamedTensors& watched)
      : shared_(shared),
        rank_(rank),
        control_(std::move(control)),
        posts_late_(posts_late),
        as_tree_(as_tree),
        watched_(watched) {}

  void begin(std::int64_t) override { bad_gradient_ = kNone; }

  void gradient_not_finite(std::size_t parameter) override { bad_gradient_ = static_cast<double>(parameter); }

  void post(const LossSum& loss) override {
    // A rank without a parent sends its signal, so that all ranks end with the same exit code.
    const double stop = shared_.stop_requested() ? kStop + shared_.stop_signal() : 0;
    const double save = rank_ == 0 && save_wanted_ ? 1 : 0;
    const double end = rank_ == 0 && end_wanted_ ? 1 : 0;
    std::vector<double> mine{loss.sum, loss.weight, static_cast<double>(loss.samples), stop, save, end, bad_gradient_};
    mine.insert(mine.end(), loss.scalars.begin(), loss.scalars.end());
    pending_ = dist::start_all_gather(control_, at::tensor(mine, at::kDouble));
  }

  std::optional<NotFinite> not_finite() override {
    finish();
    // Ranks on a CPU posted before they knew their gradients. All ranks see the same sums.
    if (!not_finite_ && !posts_late_) not_finite_ = in_sums();
    return not_finite_;
  }

  LossSum collect() override {
    finish();
    return all_;
  }

  bool stop_agreed(bool) override {
    finish();
    return stop_;
  }

  bool save_agreed(bool wanted) override {
    finish();
    save_wanted_ = wanted && !save_;
    return save_;
  }

  bool end_agreed(bool wanted) override {
    finish();
    end_wanted_ = wanted;
    return end_;
  }

 private:
  void finish() {
    if (!pending_) return;
    std::vector<LossSum> of_ranks;
    not_finite_.reset();
    save_ = false;
    int r = 0;
    int stop = 0;
    for (const auto& rank : std::exchange(pending_, nullptr)()) {
      const double* values = rank.const_data_ptr<double>();
      const bool of_loss = not_finite_ && !not_finite_->parameter;
      if (!of_loss && !std::isfinite(values[0])) {
        not_finite_ = NotFinite{.rank = r};
      } else if (!not_finite_ && values[6] != kNone) {
        not_finite_ = NotFinite{.rank = r, .parameter = static_cast<std::size_t>(values[6])};
      }
      ++r;
      of_ranks.push_back({.sum = values[0],
                          .weight = values[1],
                          .samples = static_cast<std::int64_t>(values[2]),
                          .scalars = {values + kBeforeScalars, values + rank.numel()}});
      stop = std::max(stop, static_cast<int>(values[3]));
      save_ = save_ || values[4] != 0;
      end_ = end_ || values[5] != 0;
    }
    all_ = total_of(std::move(of_ranks), as_tree_);
    stop_ = stop_ || stop != 0;
    if (stop > kStop) shared_.stop_signal() = stop - kStop;
  }

  // Finds a gradient that is not finite in the sums of all ranks, and the rank it came from. Collective if there is
  // one.
  std::optional<NotFinite> in_sums() {
    std::optional<NotFinite> found;
    for (std::size_t i = 0; i < watched_.size() && !found; ++i) {
      const at::Tensor& gradient = watched_[i].second.grad();
      if (gradient.defined() && !model::all_finite(gradient)) found = NotFinite{.rank = 0, .parameter = i};
    }
    if (!found) return {};
    int r = 0;
    for (const at::Tensor& bad : dist::all_gather(control_, at::scalar_tensor(bad_gradient_, at::kDouble))) {
      const auto parameter = bad.item<double>();
      if (parameter != kNone) return NotFinite{.rank = r, .parameter = static_cast<std::size_t>(parameter)};
      ++r;
    }
    return found;  // no rank's own gradient: only their sum
  }

  static constexpr std::ptrdiff_t kBeforeScalars = 7;
  static constexpr int kStop = 1;  // plus the signal; 0: none
  static constexpr double kNone = -1;

  record::SharedProgress& shared_;
  const int rank_;
  const dist::Group control_;
  const bool posts_late_;
  const bool as_tree_;
  const NamedTensors& watched_;
  double bad_gradient_ = kNone;  // of this rank: the index of the parameter
  dist::PendingGather pending_;
  LossSum all_;
  std::optional<NotFinite> not_finite_;
  bool stop_ = false;
  bool save_ = false;
  bool save_wanted_ = false;  // on rank 0: for the next step
  bool end_ = false;
  bool end_wanted_ = false;  // on rank 0: for the next step
};

}  // namespace

std::unique_ptr<StepExchange> make_step_exchange(record::SharedProgress& shared, int rank, const dist::Group& control,
                                                 bool posts_late, bool as_tree, const NamedTensors& watched) {
  if (control) return std::make_unique<Gathered>(shared, rank, control, posts_late, as_tree, watched);
  return std::make_unique<SharedMemoryExchange>(shared, rank, posts_late, as_tree);
}

}  // namespace ddp::train
