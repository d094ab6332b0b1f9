#include "dist/parallel/distributed_model.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <unordered_set>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "base/error.h"
#include "base/pages.h"
#include "dist/parallel/data_parallel.h"
#include "dist/process_group.h"
#include "dist/shm/arena.h"

namespace ddp::dist {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::int64_t kDefaultCap = 25 << 20;

NamedTensors named(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  NamedTensors list;
  for (const auto& item : tensors) list.emplace_back(item.key(), item.value());
  return list;
}

// What DDP reduces: parameters that need a gradient, each once.
std::vector<at::Tensor> reduced_parameters(const NamedTensors& parameters) {
  std::vector<at::Tensor> list;
  std::unordered_set<const void*> seen;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.requires_grad() && seen.insert(tensor.unsafeGetTensorImpl()).second) list.push_back(tensor);
  }
  return list;
}

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
  // Gradients come in the reverse of the order in which parameters are used.
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

// Room for the buckets twice: when they are rebuilt, someone may still hold a gradient that lies in an old one.
std::size_t room_for_buckets(const std::vector<at::Tensor>& reduced) {
  std::size_t bytes = 0;
  // There are no more buckets than parameters, and each begins a page.
  for (const auto& parameter : reduced) bytes += in_pages(parameter.nbytes());
  return 2 * bytes;
}

// The Reducer would take any index as it is. These come from a checkpoint.
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

}  // namespace

struct DistributedModel::Engine {
  std::shared_ptr<SharedArena> arena;  // where the buckets lie; null: they need no such place
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // find_unused_parameters dereferences it unchecked
  bool static_graph_started = false;

  void rebuild_buckets() {
    const SharedArena::Use in_arena(arena);
    reducer->rebuild_buckets();
  }
};

DistributedModel::DistributedModel(torch::nn::AnyModule module, Group group, const config::Distributed& options,
                                   Buckets buckets)
    : module_(std::move(module)), group_(std::move(group)), options_(options), given_buckets_(buckets) {
  parameters_ = named(module_.ptr()->named_parameters());
  buffers_ = named(module_.ptr()->named_buffers());
  if (!group_) return;

  const auto reduced = reduced_parameters(parameters_);
  const auto group_of_engine = c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(group_.get());
  c10d::verify_params_across_processes(group_of_engine, reduced, std::nullopt);
  broadcast_from_rank_0(group_, detached(parameters_, buffers_));

  // Python: int(bucket_cap_mb * 1024 * 1024); the first bucket is 1 MiB unless the user set a cap.
  const std::int64_t cap = options.bucket_cap_mb ? std::int64_t(*options.bucket_cap_mb * kMiB) : kDefaultCap;
  const std::int64_t first_cap = options.bucket_cap_mb ? cap : c10d::kDefaultFirstBucketBytes;
  if (buckets.empty()) buckets = initial_buckets(reduced, options, cap, first_cap);
  require_each_once(buckets, reduced.size());

  engine_ = std::make_unique<Engine>();
  engine_->arena = arena_of(group_);
  if (engine_->arena) engine_->arena->reserve(room_for_buckets(reduced));
  const SharedArena::Use in_arena(engine_->arena);
  engine_->reducer = std::make_shared<c10d::Reducer>(
      reduced, std::move(buckets), group_of_engine, std::vector<bool>(reduced.size(), false), cap,
      options.find_unused_parameters, options.gradients_are_views(), std::unordered_map<std::size_t, std::string>{},
      first_cap, /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  engine_->logger = std::make_shared<c10d::Logger>(engine_->reducer);
  engine_->reducer->set_logger(engine_->logger);
  engine_->logger->set_construction_data_and_log(module_.ptr()->name(), {}, -1, options.broadcast_buffers,
                                                 /*has_sync_bn=*/false, options.static_graph);
  if (options.static_graph) engine_->reducer->set_static_graph();
}

DistributedModel::~DistributedModel() = default;

void DistributedModel::split_batches_over(const std::vector<c10::Device>& devices) {
  if (engine_ || devices.size() < 2) return;
  require_cloneable(*module_.ptr());
  replicas_on_ = devices;
}

at::Tensor DistributedModel::forward(const at::Tensor& input) {
  if (!replicas_on_.empty() && at::GradMode::is_enabled()) return data_parallel(module_, input, replicas_on_);
  if (!engine_ || !at::GradMode::is_enabled()) return module_.forward(input);
  if (sync_) {
    engine_->logger->set_runtime_stats_and_log();
    engine_->reducer->prepare_for_forward();
  }
  engine_->rebuild_buckets();
  if (previous_forward_synced_) broadcast_buffers();
  previous_forward_synced_ = sync_;
  at::Tensor output = module_.forward(input);
  if (sync_) prepare(output);
  return output;
}

void DistributedModel::prepare(const at::Tensor& output) {
  const bool search = options_.find_unused_parameters && !options_.static_graph;
  engine_->reducer->prepare_for_backward(search ? std::vector<at::Tensor>{output} : std::vector<at::Tensor>{});
  if (!options_.static_graph || engine_->static_graph_started) return;
  // In the first iteration of a static graph all gradients are reduced after backward, once (Python's _DDPSink).
  engine_->static_graph_started = true;
  output.register_hook([reducer = engine_->reducer](const at::Tensor& gradient) {
    torch::autograd::Engine::get_default_engine().queue_callback([reducer] { reducer->delay_all_reduce(); });
    return gradient;
  });
}

void DistributedModel::zero_grad() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

void DistributedModel::broadcast_buffers() {
  if (!options_.broadcast_buffers || buffers_.empty()) return;
  const at::NoGradGuard no_grad;
  broadcast_from_rank_0(group_, detached(buffers_, {}));
}

Buckets DistributedModel::rebuilt_buckets() {
  Buckets buckets;
  if (!engine_) return buckets;
  // The reducer rebuilds in the forward of the second step, and its logger tells of it in that of the third: a
  // checkpoint may come earlier.
  engine_->rebuild_buckets();
  engine_->logger->set_runtime_stats_and_log();
  // The logger is the only one who tells: "0 1, 2 3" is two buckets of two parameters.
  std::istringstream text(engine_->logger->get_ddp_logging_data().strs_map["rebuilt_per_bucket_param_indices"]);
  for (std::string bucket; std::getline(text, bucket, ',');) {
    std::istringstream indices(bucket);
    std::vector<std::size_t> list;
    for (std::size_t index; indices >> index;) list.push_back(index);
    if (!list.empty()) buckets.push_back(std::move(list));
  }
  return buckets.empty() ? given_buckets_ : buckets;
}

}  // namespace ddp::dist
