#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "base/error.h"
#include "base/shared_memory.h"
#include "dist/batch_norm.h"
#include "dist/parallel/bucket_sums.h"
#include "dist/parallel/parallel.h"
#include "dist/shm/arena.h"
#include "dist/watched_group.h"
#include "model/call.h"

namespace ddp::dist {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::int64_t kDefaultCap = 25 << 20;

// A parameter in shared memory begins at a cache line.
constexpr std::size_t in_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::vector<at::Tensor> detached(const NamedTensors& first, const NamedTensors& second) {
  std::vector<at::Tensor> list;
  for (const auto* part : {&first, &second}) {
    for (const auto& [name, tensor] : *part) list.push_back(tensor.detach());
  }
  return list;
}

Buckets initial_buckets(const std::vector<at::Tensor>& parameters, const config::Distributed& options, std::int64_t cap,
                        std::int64_t first_cap) {
  std::vector<std::size_t> limits{std::numeric_limits<std::size_t>::max()};
  if (!options.static_graph && options.find_unused_parameters) {
    limits = options.bucket_cap_mb ? std::vector<std::size_t>{std::size_t(cap)}
                                   : std::vector<std::size_t>{std::size_t(first_cap), std::size_t(cap)};
  }
  Buckets buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters, limits));
  // Gradients become ready in the reverse order of the parameters' use.
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

// Returns twice the size of the buckets: after a rebuild, a gradient in an old bucket may still be in use.
std::size_t room_for_buckets(const std::vector<at::Tensor>& reduced) {
  std::size_t bytes = 0;
  // Each bucket begins at a memory page, and the number of buckets is at most the number of parameters.
  for (const auto& parameter : reduced) bytes += in_pages(parameter.nbytes());
  return 2 * bytes;
}

// Checks the buckets, which come from a checkpoint: the Reducer does not check indices.
void require_each_once(const Buckets& buckets, std::size_t parameters) {
  std::vector<bool> seen(parameters);
  std::size_t count = 0;
  for (const auto& bucket : buckets) {
    for (const std::size_t index : bucket) {
      if (index >= parameters || seen[index]) throw training_error("the buckets do not fit the model", "state.json");
      seen[index] = true;
      ++count;
    }
    if (bucket.empty()) throw training_error("a bucket is empty", "state.json");
  }
  if (count != parameters) throw training_error("the buckets lack a parameter of the model", "state.json");
}

// Throws an error with the names of the parameters whose indices the Reducer's message lists: the loss of the last step
// did not depend on them. Returns if the message is another one.
void refuse_unused(const std::string& message, const NamedTensors& reduced) {
  constexpr std::string_view kIndices = "Parameter indices which did not receive grad for rank ";
  const std::size_t begin = message.find(kIndices);
  if (begin == std::string::npos) return;
  std::istringstream list(message.substr(begin + kIndices.size()));
  std::string rank;
  list >> rank;  // "0:"
  std::vector<std::string> names;
  for (std::size_t index = 0; list >> index && index < reduced.size();) names.push_back(reduced[index].first);
  throw unused_parameters(Fault::training, names);
}

// With find_unused_parameters, c10d's Reducer notes which parameters a step uses on this rank. Behind the gradients the
// ranks add up these notes: the gradient of a parameter that no rank uses stays as it is (reducer.cpp,
// finalize_bucket_dense). A replayed step does the same here.
class CountingReducer : public c10d::Reducer {
 public:
  using c10d::Reducer::Reducer;

  std::vector<at::Tensor> counts() const { return {local_used_map_, local_used_map_dev_}; }
  // Notes the parameters that have a gradient. Those of replayed micro-batches have no hook that does.
  void note_used() {
    auto* const used = local_used_map_.mutable_data_ptr<std::int32_t>();
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (params_[i].grad().defined()) used[i] = 1;
    }
  }
  // Returns the tensor that the ranks add up.
  const at::Tensor& used_here() {
    note_used();
    return local_used_map_dev_.copy_(local_used_map_);
  }
  // Behind that sum: points the gradients that only other ranks have into the buckets, and begins another step.
  void take_others() {
    const auto* const used = local_used_map_dev_.const_data_ptr<std::int32_t>();
    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (used[i] == 0 || params_[i].grad().defined()) continue;
      const VariableLocator& place = variable_locators_[i];
      params_[i].mutable_grad() = buckets_[place.bucket_index].bucket_views_in[place.intra_bucket_index];
    }
    local_used_map_.zero_();
  }
};

// The all-reduce of gradients: c10d's Reducer and its logger.
struct Engine {
  std::shared_ptr<SharedArena> arena;  // the memory of the buckets; null: ordinary memory
  std::shared_ptr<CountingReducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // find_unused_parameters dereferences it unchecked
  bool static_graph_started = false;

  void rebuild_buckets(const NamedTensors& parameters) try {
    const SharedArena::Use in_arena(arena);
    reducer->rebuild_buckets();
  } catch (const c10::Error& error) {
    refuse_unused(error.msg(), trained_of(parameters));
    throw;
  }
};

// Averages gradients over the ranks of a group during backward with c10d::Reducer, bit for bit like
// torch.nn.parallel.DistributedDataParallel in Python (torch/nn/parallel/distributed.py).
class Ddp : public Parallel {
 public:
  explicit Ddp(const ParallelParts& parts)
      : Parallel(parts.module),
        group_(parts.group),
        options_(parts.options),
        logical_here_(std::max(1, parts.logical_ranks / size_of(parts.group))),
        sums_as_tree_(parts.logical_ranks > 0) {
    // One rank with the whole batch has the usual batch norms.
    if (parts.syncs_norms && size_of(group_) * logical_here_ > 1) norms_.emplace(group_);
  }

  void start(const Buckets& buckets) override;
  bool share_parameters(bool whole_gradients) override;
  void add_gradients(const std::vector<at::Tensor>& gradients) override;
  void keep_gradients() override { logical_sums_->keep(reduced_); }
  void begin_forward() override;
  NamedTensors forward(const std::vector<at::Tensor>& inputs) override;
  std::vector<at::Tensor> take_buffers_of_rank_0() override;
  std::vector<at::Tensor> gradient_buffers() override;
  std::function<void()> start_sum(const at::Tensor& buffer) override;
  std::vector<at::Tensor> counts_of_use() override;
  std::function<void()> share_use() override;
  Buckets rebuilt_buckets() override;

 private:
  void make_engine(Buckets buckets, const c10::intrusive_ptr<c10d::ProcessGroup>& group);
  void prepare(const NamedTensors& outputs);
  void broadcast_buffers();
  bool finds_unused() const { return options_.find_unused_parameters && !options_.static_graph; }
  std::function<void()> start_all_reduce(const at::Tensor& tensor);

  const Group group_;
  const config::Distributed options_;
  const int logical_here_;  // logical ranks that this rank computes
  const bool sums_as_tree_;
  std::optional<SyncedNorms> norms_;
  Engine engine_;
  SumsOfLogicalRanks* logical_sums_ = nullptr;  // of the reducer; null: each rank is one logical rank
  AveragesOfShares* averages_ = nullptr;        // of the reducer; null: each rank gets the averages of all gradients
  std::vector<at::Tensor> reduced_;             // the parameters of the reducer, in its order
  bool previous_forward_synced_ = true;         // as in Python, initially true
};

void Ddp::start(const Buckets& buckets) {
  reduced_ = tensors_of(trained_of(parameters()));
  const auto group = c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(group_.get());
  c10d::verify_params_across_processes(group, reduced_, std::nullopt);
  broadcast_from_rank_0(group_, detached(parameters(), this->buffers()));
  make_engine(buckets, group);
}

void Ddp::make_engine(Buckets buckets, const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  // As in Python: int(bucket_cap_mb * 1024 * 1024); the first bucket is 1 MiB unless the user set a cap.
  const std::int64_t cap = options_.bucket_cap_mb ? std::int64_t(*options_.bucket_cap_mb * kMiB) : kDefaultCap;
  const std::int64_t first_cap = options_.bucket_cap_mb ? cap : c10d::kDefaultFirstBucketBytes;
  if (buckets.empty()) buckets = initial_buckets(reduced_, options_, cap, first_cap);
  require_each_once(buckets, reduced_.size());
  engine_.arena = arena_of(group_);
  if (engine_.arena) engine_.arena->reserve(room_for_buckets(reduced_));
  const SharedArena::Use in_arena(engine_.arena);
  engine_.reducer = std::make_shared<CountingReducer>(
      reduced_, std::move(buckets), group, std::vector<bool>(reduced_.size(), false), cap,
      options_.find_unused_parameters, options_.gradients_are_views(), std::unordered_map<std::size_t, std::string>{},
      first_cap, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  engine_.logger = std::make_shared<c10d::Logger>(engine_.reducer);
  engine_.reducer->set_logger(engine_.logger);
  engine_.logger->set_construction_data_and_log(module().ptr()->name(), {}, -1, options_.broadcast_buffers,
                                                /*has_sync_bn=*/false, options_.static_graph);
  if (options_.static_graph) engine_.reducer->set_static_graph();
  if (logical_here_ > 1) {
    auto sums = std::make_unique<SumsOfLogicalRanks>(group_, logical_here_);
    logical_sums_ = sums.get();
    engine_.reducer->register_comm_hook(std::move(sums));
  }
}

bool Ddp::share_parameters(bool whole_gradients) {
  if (!engine_.arena || !engine_.arena->exists() || engine_.arena->ranks() != group_->getSize()) return false;
  std::size_t bytes = 0;
  for (const auto& [name, parameter] : parameters()) {
    if (!parameter.is_cpu() || !parameter.is_non_overlapping_and_dense()) return false;
    bytes += in_lines(parameter.nbytes());
  }
  barrier(group_);  // all ranks have reserved their parts of the arena
  const std::shared_ptr<std::byte> memory = engine_.arena->common(bytes);
  for (const at::Tensor& mapped : all_gather(group_, at::scalar_tensor(memory != nullptr, at::kBool))) {
    if (!mapped.item<bool>()) return false;
  }
  const at::NoGradGuard no_grad;
  std::size_t place = 0;
  for (const auto& [name, parameter] : parameters()) {
    const at::Tensor shared = at::from_blob(
        memory.get() + place, parameter.sizes(), parameter.strides(), [memory](void*) {}, parameter.detach().options());
    if (group_->getRank() == 0) shared.copy_(parameter);
    parameter.set_data(shared);
    place += in_lines(parameter.nbytes());
  }
  barrier(group_);  // rank 0 has copied all
  const auto is_float = [](const at::Tensor& one) { return one.scalar_type() == at::kFloat; };
  const bool in_order = !sums_as_tree_ || (logical_here_ == 1 && group_->getSize() == 2);
  if (!whole_gradients && in_order && std::all_of(reduced_.begin(), reduced_.end(), is_float)) {
    auto averages = std::make_unique<AveragesOfShares>(group_);
    averages_ = averages.get();
    engine_.reducer->register_comm_hook(std::move(averages));
  }
  return true;
}

void Ddp::begin_forward() {
  if (synchronises()) {
    engine_.logger->set_runtime_stats_and_log();
    engine_.reducer->prepare_for_forward();
  }
  engine_.rebuild_buckets(parameters());
  // As in Python, buffers are broadcast only if the previous forward was synchronised.
  if (previous_forward_synced_ && options_.broadcast_buffers) broadcast_buffers();
  previous_forward_synced_ = synchronises();
}

NamedTensors Ddp::forward(const std::vector<at::Tensor>& inputs) {
  const SyncedNorms::Use synced(norms_ ? &*norms_ : nullptr);
  NamedTensors outputs = model::call(module(), inputs);
  if (synchronises()) prepare(outputs);
  return outputs;
}

void Ddp::add_gradients(const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> with_gradient, defined;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    with_gradient.push_back(reduced_[i]);
    defined.push_back(gradients[i]);
  }
  if (synchronises()) prepare({});
  torch::autograd::backward(with_gradient, defined);
}

void Ddp::prepare(const NamedTensors& outputs) {
  if (finds_unused()) engine_.reducer->note_used();
  engine_.reducer->prepare_for_backward(finds_unused() ? tensors_of(outputs) : std::vector<at::Tensor>{});
  if (!options_.static_graph || engine_.static_graph_started) return;
  // In the first iteration of a static graph, all gradients are reduced once, after backward (Python's _DDPSink).
  engine_.static_graph_started = true;
  const auto is_queued = std::make_shared<bool>(false);
  for (const auto& [name, output] : outputs) {
    if (!output.requires_grad()) continue;
    output.register_hook([reducer = engine_.reducer, is_queued](const at::Tensor& gradient) {
      if (!std::exchange(*is_queued, true)) {
        torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
      }
      return gradient;
    });
  }
}

void Ddp::broadcast_buffers() {
  if (buffers().empty()) return;
  const at::NoGradGuard no_grad;
  broadcast_from_rank_0(group_, detached(buffers(), {}));
}

std::vector<at::Tensor> Ddp::take_buffers_of_rank_0() {
  std::vector<at::Tensor> own;
  if (!options_.broadcast_buffers) {
    for (const auto& [name, buffer] : buffers()) own.push_back(buffer.clone());
  }
  broadcast_buffers();
  return own;
}

std::vector<at::Tensor> Ddp::gradient_buffers() {
  std::vector<at::Tensor> buffers;
  for (const auto& bucket : engine_.reducer->get_grad_buckets(/*return_zero_tensors=*/false)) {
    buffers.push_back(bucket.getBuffer());
  }
  return buffers;
}

std::function<void()> Ddp::start_sum(const at::Tensor& buffer) {
  if (logical_sums_ != nullptr) logical_sums_->add_kept(buffer);
  if (averages_ != nullptr) {
    averages_->take(buffer);
    return [] {};
  }
  return start_all_reduce(buffer);
}

std::function<void()> Ddp::start_all_reduce(const at::Tensor& tensor) {
  std::vector<at::Tensor> tensors = {tensor};
  auto* const watched = dynamic_cast<WatchedGroup*>(group_.get());
  if (watched == nullptr) return [work = group_->allreduce(tensors)] { work->wait(); };
  return [watched, work = watched->start(tensors)] { watched->finish(*work); };
}

std::vector<at::Tensor> Ddp::counts_of_use() {
  return finds_unused() ? engine_.reducer->counts() : std::vector<at::Tensor>();
}

std::function<void()> Ddp::share_use() {
  if (!finds_unused() || !synchronises()) return [] {};
  return [this, wait = start_all_reduce(engine_.reducer->used_here())] {
    wait();
    engine_.reducer->take_others();
  };
}

Buckets Ddp::rebuilt_buckets() {
  // The reducer rebuilds buckets in the forward of the second step; a checkpoint may come earlier.
  engine_.rebuild_buckets(parameters());
  std::unordered_map<const void*, std::size_t> index_of;
  for (const at::Tensor& parameter : reduced_) index_of.emplace(parameter.unsafeGetTensorImpl(), index_of.size());
  Buckets buckets;
  for (const auto& bucket : engine_.reducer->get_grad_buckets(/*return_zero_tensors=*/false)) {
    auto& indices = buckets.emplace_back();
    for (const at::Tensor& parameter : bucket.getParameters()) {
      indices.push_back(index_of.at(parameter.unsafeGetTensorImpl()));
    }
  }
  return buckets;
}

const bool ddp_registered = parallels().add<NoParallelOptions>(
    "ddp", "PyTorch's DistributedDataParallel: one process for each rank; ranks average their gradients",
    [](const NoParallelOptions&, const ParallelParts& parts) -> std::unique_ptr<Parallel> {
      return std::make_unique<Ddp>(parts);
    },
    {{"ranks", "many"}});

}  // namespace
}  // namespace ddp::dist
