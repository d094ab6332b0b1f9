#include "data/batches.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include "base/error.h"
#include "config/length.h"

namespace ddp::data {
namespace {

// The number of samples from which drawing the order takes longer than starting a thread.
constexpr std::int64_t kWorthThread = 1 << 16;

datasets::Batch pinned(datasets::Batch batch, bool pin) {
  if (!pin) return batch;
  for (auto& [name, tensor] : batch.inputs) tensor = tensor.pin_memory();
  for (auto& [name, tensor] : batch.targets) tensor = tensor.pin_memory();
  if (batch.weights.defined()) batch.weights = batch.weights.pin_memory();
  return batch;
}

// Returns the weights by which samples are drawn, float64 [n]; undefined: none. Throws ddp::Error (usage).
at::Tensor weights_of(const datasets::MapDataset& dataset, const at::Tensor& samples, const std::string& sample) {
  constexpr std::int64_t kMostDrawn = 1 << 24;  // of torch.multinomial
  if (sample == "all") return {};
  if (samples.size(0) > kMostDrawn) {
    throw usage_error("torch.multinomial draws from at most " + std::to_string(kMostDrawn) +
                          " samples, and there are " + std::to_string(samples.size(0)),
                      "loader.sample", "leave it out");
  }
  if (sample == "weighted") return dataset.weights().index_select(0, samples).to(at::kDouble);
  const at::Tensor classes = dataset.classes();
  if (!classes.defined()) {
    throw usage_error("\"balanced\" needs one class for each sample, and the targets of this dataset are not classes",
                      "loader.sample", "leave it out, or draw by weights: \"weighted\"");
  }
  const at::Tensor own = classes.index_select(0, samples);
  // Samples without a class are not drawn.
  const at::Tensor counts = at::bincount(own.masked_select(own.ge(0)));
  return at::where(own.ge(0), counts.index_select(0, own.clamp_min(0)).to(at::kDouble).reciprocal(), 0.0);
}

// Returns the places among these samples (ascending) at which the blocks of a stream begin, and their number; empty:
// the dataset is no stream.
std::vector<std::int64_t> cuts_of(const datasets::MapDataset& dataset, const at::Tensor& samples) {
  std::vector<std::int64_t> cuts = dataset.block_begins();
  if (samples.numel() == dataset.size()) return cuts;
  const std::int64_t* const first = samples.const_data_ptr<std::int64_t>();
  for (std::int64_t& cut : cuts) cut = std::lower_bound(first, first + samples.numel(), cut) - first;
  return cuts;
}

// Batches of samples in the sampler's order. The last batch of an epoch may be shorter, unless it is dropped.
class SampledBatches : public Batches {
 public:
  SampledBatches(const datasets::MapDataset& dataset, at::Tensor samples, const Sharding& sharding,
                 const config::Loader& options)
      : dataset_(dataset),
        samples_(std::move(samples)),
        all_(samples_.size(0) == dataset.size()),
        batch_size_(sharding.batch_size),
        options_(options),
        pin_memory_(sharding.pin_memory),
        accumulate_(sharding.accumulate),
        workers_(dataset.in_memory() ? 0 : std::max<std::int64_t>(options.workers, options.stream ? 1 : 0)),
        sampler_{.size = samples_.size(0),
                 .rank = sharding.rank,
                 .world_size = sharding.world_size,
                 .shuffle = options.shuffle,
                 .drop_last = options.drop_last,
                 .seed = options.sampler_seed,
                 .weights = weights_of(dataset, samples_, options.sample),
                 .cuts = cuts_of(dataset, samples_),
                 .window = options.window} {}

  std::int64_t per_epoch(std::int64_t done) const override {
    const std::int64_t left = std::max<std::int64_t>(0, sampler_.size - done);
    return config::micro_batches_of_rank(left, sampler_.world_size, batch_size_, options_);
  }

  void start_epoch(std::int64_t epoch, std::int64_t position, std::int64_t done, bool last) override {
    prefetch_.reset();
    draws_ = position == 0 && done == 0;
    epoch_ = epoch;
    first_ = next_ = position;
    end_ = per_epoch(done);
    if (!sampler_.cuts.empty()) {
      streamed_.emplace(sampler_, epoch, done);
      left_ = sampler_.length(done);
      taken_.clear();
      to_take_ = position;
      return;
    }
    order_ = begun_.valid() && begun_epoch_ == epoch && done == 0 ? begun_.get() : order_of(epoch, done);
    if (!last && sampler_.size >= kWorthThread) draw_ahead(epoch + 1);
  }

  void start_step(std::int64_t step) override {
    if (next_ == first_ && !prefetch_) first_step_ = step;  // threads that fetch read it
  }

  datasets::Batch next() override {
    if (std::exchange(draws_, false)) at::empty({}, at::kLong).random_();
    fetch_ahead();
    const std::int64_t index = next_++;
    return prefetch_ ? prefetch_->next() : gather(index);
  }

  std::exception_ptr wait(std::int64_t micro_batches) override {
    fetch_ahead();
    return prefetch_ ? prefetch_->wait(micro_batches) : nullptr;
  }

 private:
  // The threads start when the first step of the epoch is known.
  void fetch_ahead() {
    if (workers_ == 0 || prefetch_) return;
    prefetch_ = std::make_unique<Prefetch>(
        workers_, next_, end_, [this](auto i) { return gather(i); }, accumulate_);
  }

  at::Tensor order_of(std::int64_t epoch, std::int64_t done) const {
    const at::Tensor places = sampler_.indices(epoch, done);
    return all_ ? places : samples_.index_select(0, places);
  }

  void draw_ahead(std::int64_t epoch) {
    try {
      begun_ = std::async(std::launch::async, [this, epoch] { return order_of(epoch, 0); });
      begun_epoch_ = epoch;
    } catch (const std::system_error&) {
      // No thread can start: the order is drawn at the start of its epoch.
    }
  }

  datasets::Batch gather(std::int64_t index) {
    const std::int64_t begin = index * batch_size_;
    const at::Tensor samples =
        streamed_ ? streamed_samples(index) : order_.narrow(0, begin, std::min(batch_size_, order_.size(0) - begin));
    return pinned(dataset_.at_place(dataset_.gather(samples, epoch_), place_of(index)), pin_memory_);
  }

  // Threads ask for nearly ascending micro-batches, each once.
  at::Tensor streamed_samples(std::int64_t index) {
    const std::lock_guard lock(taking_);
    for (; to_take_ <= index; ++to_take_) {
      const std::int64_t begin = to_take_ * batch_size_;
      const at::Tensor places = streamed_->take(begin, std::min(batch_size_, left_ - begin));
      taken_[to_take_] = all_ ? places : samples_.index_select(0, places);
    }
    return taken_.extract(index).mapped();
  }

  // Counting from the first micro-batch, each multiple of `accumulate_` begins a step.
  datasets::MicroBatchPosition place_of(std::int64_t index) const {
    const std::int64_t since = index - first_;
    return {.step = first_step_ + since / accumulate_, .micro_batch = since % accumulate_, .rank = sampler_.rank};
  }

  const datasets::MapDataset& dataset_;
  const at::Tensor samples_;
  const bool all_;  // samples_ are all samples of the dataset
  const std::int64_t batch_size_;
  const config::Loader options_;
  const bool pin_memory_;
  const std::int64_t accumulate_;
  const std::int64_t workers_;
  const DistributedSampler sampler_;
  at::Tensor order_;    // this rank's samples of this epoch
  bool draws_ = false;  // the epoch has not drawn its number yet
  std::int64_t epoch_ = 0;
  std::int64_t first_ = 0;  // first micro-batch since start_epoch()
  std::int64_t first_step_ = 0;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  std::int64_t begun_epoch_ = 0;
  // Of a stream:
  std::mutex taking_;                         // guards the next four
  std::optional<StreamedIndices> streamed_;   // this rank's samples of this epoch
  std::int64_t left_ = 0;                     // their number
  std::int64_t to_take_ = 0;                  // the next micro-batch
  std::map<std::int64_t, at::Tensor> taken_;  // samples of micro-batches that no thread has asked for yet
  // These two are last, because their threads read the members above.
  std::future<at::Tensor> begun_;  // the order of begun_epoch_, drawn during the previous epoch
  std::unique_ptr<Prefetch> prefetch_;
};

// Unlimited batches, drawn on the training thread, because the result may depend on the order of draws.
class DrawnBatches : public Batches {
 public:
  DrawnBatches(const datasets::DrawnDataset& dataset, const Sharding& sharding)
      : dataset_(dataset),
        batch_size_(sharding.batch_size),
        pin_memory_(sharding.pin_memory),
        place_{.rank = sharding.rank} {}

  std::int64_t per_epoch(std::int64_t) const override { return 0; }
  void start_epoch(std::int64_t, std::int64_t, std::int64_t, bool) override {}
  void start_step(std::int64_t step) override {
    place_.step = step;
    place_.micro_batch = 0;
  }
  datasets::Batch next() override {
    datasets::Batch batch = dataset_.draw(batch_size_, place_);
    ++place_.micro_batch;
    return pinned(std::move(batch), pin_memory_);
  }

 private:
  const datasets::DrawnDataset& dataset_;
  const std::int64_t batch_size_;
  const bool pin_memory_;
  datasets::MicroBatchPosition place_;
};

}  // namespace

Prefetch::Prefetch(std::int64_t threads, std::int64_t begin, std::int64_t end, Fetch fetch, std::int64_t waits_for)
    : fetch_(std::move(fetch)), end_(end), ahead_(std::max(2 * threads, waits_for)), to_fetch_(begin), to_give_(begin) {
  for (std::int64_t t = 0; t < threads; ++t) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

void Prefetch::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto may_fetch = [this] { return to_fetch_ == end_ || to_fetch_ < to_give_ + ahead_; };
    if (!changed_.wait(lock, stop, may_fetch) || to_fetch_ == end_) return;
    const std::int64_t index = to_fetch_++;
    lock.unlock();
    Result result;
    try {
      result.batch = fetch_(index);
    } catch (...) {
      result.failure = std::current_exception();
    }
    lock.lock();
    ready_.emplace(index, std::move(result));
    changed_.notify_all();
  }
}

datasets::Batch Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_.contains(to_give_); });
  Result result = std::move(ready_.extract(to_give_++).mapped());
  changed_.notify_all();
  if (result.failure) std::rethrow_exception(result.failure);
  return std::move(result.batch);
}

std::exception_ptr Prefetch::wait(std::int64_t count) {
  std::unique_lock lock(mutex_);
  for (std::int64_t i = to_give_; i < std::min(to_give_ + count, end_); ++i) {
    changed_.wait(lock, [&] { return ready_.contains(i); });
    if (ready_.at(i).failure) return ready_.at(i).failure;
  }
  return nullptr;
}

EvaluationBatches::EvaluationBatches(const EvaluationSet& set) : set_(set) {
  if (set.workers == 0 || set.dataset->in_memory()) return;
  prefetch_ =
      std::make_unique<Prefetch>(set.workers, 0, set.own_batches(), [this](auto index) { return gather(index); });
}

EvaluationBatches::~EvaluationBatches() = default;

datasets::Batch EvaluationBatches::next() {
  const std::int64_t index = next_++;
  return prefetch_ ? prefetch_->next() : gather(index);
}

datasets::Batch EvaluationBatches::gather(std::int64_t own_index) const {
  const std::int64_t begin = (set_.rank + own_index * set_.world_size) * set_.batch_size;
  const std::int64_t count = std::min(set_.batch_size, set_.samples.size(0) - begin);
  // Evaluation draws no random numbers, so any epoch gives the same samples.
  return set_.dataset->gather(set_.samples.narrow(0, begin, count), /*epoch=*/0);
}

namespace {

std::unique_ptr<Batches> batches_of_one(const datasets::Dataset& dataset, const at::Tensor& train_samples,
                                        const Sharding& sharding, const config::Loader& options) {
  if (const auto* drawn = dynamic_cast<const datasets::DrawnDataset*>(&dataset)) {
    return std::make_unique<DrawnBatches>(*drawn, sharding);
  }
  return std::make_unique<SampledBatches>(dynamic_cast<const datasets::MapDataset&>(dataset), train_samples, sharding,
                                          options);
}

// The batches of several logical ranks, each with its own generators.
class LogicalBatches : public Batches {
 public:
  LogicalBatches(std::vector<std::unique_ptr<Batches>> of_each, model::Generators& generators)
      : of_each_(std::move(of_each)), generators_(generators) {}

  std::int64_t per_epoch(std::int64_t done) const override { return of_each_.front()->per_epoch(done); }
  void start_epoch(std::int64_t epoch, std::int64_t position, std::int64_t done, bool last) override {
    for (std::size_t i = 0; i < of_each_.size(); ++i) {
      generators_.use(static_cast<int>(i));
      of_each_[i]->start_epoch(epoch, position, done, last);
    }
  }
  void start_step(std::int64_t step) override {
    for (const auto& one : of_each_) one->start_step(step);
  }
  void choose(int logical) override {
    generators_.use(logical);
    chosen_ = static_cast<std::size_t>(logical);
  }
  datasets::Batch next() override { return of_each_[chosen_]->next(); }
  std::exception_ptr wait(std::int64_t micro_batches) override {
    for (const auto& one : of_each_) {
      if (const std::exception_ptr failure = one->wait(micro_batches)) return failure;
    }
    return nullptr;
  }

 private:
  const std::vector<std::unique_ptr<Batches>> of_each_;
  model::Generators& generators_;
  std::size_t chosen_ = 0;
};

}  // namespace

std::unique_ptr<Batches> make_batches(const datasets::Dataset& dataset, const at::Tensor& train_samples,
                                      const Sharding& sharding, const config::Loader& options,
                                      model::Generators* generators) {
  const int logical = generators == nullptr ? 1 : generators->logical();
  if (logical == 1) return batches_of_one(dataset, train_samples, sharding, options);
  std::vector<std::unique_ptr<Batches>> of_each;
  config::Loader own = options;
  own.workers = (options.workers + logical - 1) / logical;
  for (int i = 0; i < logical; ++i) {
    Sharding one = sharding;
    one.rank = sharding.rank * logical + i;
    one.world_size = sharding.world_size * logical;
    of_each.push_back(batches_of_one(dataset, train_samples, one, own));
  }
  return std::make_unique<LogicalBatches>(std::move(of_each), *generators);
}

}  // namespace ddp::data
