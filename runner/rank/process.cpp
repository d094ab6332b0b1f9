#include "rank/process.h"

#include <algorithm>
#include <future>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/index_select.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/nn/module.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/heap.h"
#include "base/log.h"
#include "config/components.h"
#include "config/text/source.h"
#include "dist/backends/backend.h"
#include "dist/collectives.h"
#include "dist/parallel/parallel.h"
#include "dist/waiting.h"
#include "format/safetensors.h"
#include "model/numerics.h"
#include "model/weights.h"
#include "models/model.h"
#include "record/file/atomic_file.h"
#include "record/metrics/metrics_log.h"
#include "record/run_directory.h"

namespace ddp::rank {
namespace {

// "all_reduce in step 4"
std::string collective_in_words(const Task& t) {
  const auto& progress = t.progress->rank(t.rank);
  return std::string(record::to_string(progress.collective)) + " in " + record::current_step(progress);
}

// Returns the beginning of the error message of a rank that timed out and has no parent: which ranks stay away.
std::string who_stays_away(const Task& t, const dist::Groups& groups) {
  std::string ranks;
  for (const int rank : dist::absent_ranks(groups, t.rank)) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  return ranks.empty() ? "" : "waited for " + collective_in_words(t) + ", from which rank " + ranks + " stays away: ";
}

// The error of a rank without a parent that lost another rank. The text of the connection names no rank.
dist::PeerLost lost_rank(const Task& t, const dist::Groups& groups) {
  const dist::LostRank lost = groups.store ? dist::lost_rank(*groups.store, t.rank, t.world_size) : dist::LostRank();
  return dist::PeerLost("waited for " + collective_in_words(t) + ": " + lost.what, "", lost.remedy);
}

// LibTorch's pool of threads waits for ever for a thread that a limit keeps from starting. Here its start fails with an
// exception.
void require_threads(int count) {
  std::promise<void> all_started;
  const std::shared_future<void> end = all_started.get_future().share();
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([end] { end.wait(); });
  } catch (...) {
    all_started.set_value();
    throw;
  }
  all_started.set_value();
}

}  // namespace

c10::Device first_device(const Task& t) { return c10::Device(t.devices.front()); }

void prepare_process(const Task& t) {
  const auto& e = *t.experiment;
  const int threads = static_cast<int>(*e.threads);
  require_threads(threads - 1);
  at::set_num_threads(threads);
  at::globalContext().setDeterministicCuDNN(e.deterministic);
  at::globalContext().setBenchmarkCuDNN(!e.deterministic);
  if (e.tf32) {
    at::globalContext().setAllowTF32CuBLAS(*e.tf32);
    at::globalContext().setAllowTF32CuDNN(*e.tf32);
  }
  // Applies to this thread and the threads that it starts.
  if (!at::globalContext().setFlushDenormal(e.flush_denormal) && e.flush_denormal) {
    throw training_error("this CPU cannot treat denormal numbers as 0", "flush_denormal", "set it to false");
  }
  const c10::Device device = first_device(t);
  if (!device.is_cpu()) c10::impl::getDeviceGuardImpl(device.type())->setDevice(device);
  at::manual_seed(static_cast<std::uint64_t>(e.seed));
}

bool shares_memory(const Task& t) {
  const std::string& backend = t.experiment->distributed.backend;
  return dist::backends().contains(backend) && config::transport_of(dist::backends().traits(backend)).shares_memory &&
         t.ranks_here == t.world_size;
}

dist::Groups join_groups(const Task& t) {
  const auto& d = t.experiment->distributed;
  if (!dist::joins_group(t.experiment->parallel)) return {};
  t.progress->rank(t.rank).begin(record::CollectiveKind::joining);
  return dist::join_process_groups({.backend = d.backend,
                                    .rank = t.rank,
                                    .world_size = t.world_size,
                                    .ranks_here = t.ranks_here,
                                    .first_rank = t.first_rank,
                                    .device = t.devices.front(),
                                    .spread = t.devices.size() > 1,
                                    .meeting = t.meeting,
                                    .progress = t.progress->rank(t.rank),
                                    .timeout = std::chrono::milliseconds(static_cast<std::int64_t>(d.timeout * 1000)),
                                    .sums_as_tree = t.experiment->logical_ranks.has_value(),
                                    // In its first step, a static graph waits for its sums before backward ends.
                                    .sums_may_wait = !d.static_graph,
                                    .stop_signal = t.watched ? nullptr : &t.progress->stop_signal()},
                                   /*control=*/!t.together);
}

void naming_absent_ranks(const Task& t, const dist::Groups& groups, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    if (t.watched) throw;
    const auto* c10_error = dynamic_cast<const c10::Error*>(&error);
    const std::string what = c10_error != nullptr ? c10_error->what_without_backtrace() : error.what();
    const dist::PeerTrouble peer = dist::peer_trouble(error);
    if (peer == dist::PeerTrouble::lost) throw lost_rank(t, groups);
    if (peer == dist::PeerTrouble::late) throw dist::PeerLate(who_stays_away(t, groups) + what);
    dist::note_end(groups, t.rank, what);
    throw;
  }
}

std::optional<data::EvaluationSet> evaluation_of(const Task& t, const data::Set& set, const config::HeldOut& options) {
  if (!set.dataset) return {};
  const config::Experiment& e = *t.experiment;
  return data::EvaluationSet{.dataset = set.map(),
                             .samples = set.samples,
                             .batch_size = options.batch_size.value_or(*e.batch_size),
                             .rank = t.rank,
                             .world_size = t.world_size,
                             .workers = e.loader.workers};
}

data::Sets build_sets(const Task& t, bool whole) {
  if (t.experiment->loader.stream) share_one_heap();
  const NamedTensors held = t.held_data.empty() ? NamedTensors() : format::map_safetensors(t.held_data);
  if (whole) return data::build_whole(*t.experiment, t.rank, t.world_size, held, t.preprocessing);
  return data::build_sets(*t.experiment, t.rank, t.world_size, held, t.preprocessing, t.rows);
}

bool require_targets(const train::CheckTargets& check, const datasets::MapDataset& dataset, const at::Tensor& samples) {
  if (dataset.check_targets(check)) return true;
  const at::Tensor all = dataset.classes();
  if (!all.defined()) return false;
  const at::Tensor classes = all.index_select(0, samples);
  try {
    check(classes.masked_select(classes.ne(datasets::kNoClass)));
  } catch (const Error& error) {
    throw usage_error(error.summary(), "model", error.remedy());
  }
  return false;
}

Data build_data(const Task& t, model::Generators& generators) {
  const config::Experiment& e = *t.experiment;
  Data d{.sets = build_sets(t), .batches = {}, .validation = {}, .test = {}};
  d.batches = data::make_batches(*d.sets.train.dataset, d.sets.train.samples,
                                 {.rank = t.rank,
                                  .world_size = t.world_size,
                                  .batch_size = *e.batch_size,
                                  .pin_memory = first_device(t).is_cuda(),
                                  .accumulate = e.accumulate},
                                 e.loader, &generators);
  d.validation = evaluation_of(t, d.sets.validation, e.validation);
  d.test = evaluation_of(t, d.sets.test, e.test);
  return d;
}

namespace {

std::vector<c10::Device> devices_of(const Task& t) { return {t.devices.begin(), t.devices.end()}; }

torch::nn::AnyModule build_model(const Task& t) {
  const auto& e = *t.experiment;
  models::Placement placement{.devices = devices_of(t), .loads_weights = !e.model.copies.empty()};
  // The strategy copies the model to the other devices at each use.
  if (dist::copies_model(e.parallel)) placement.devices.resize(1, c10::kCPU);
  torch::nn::AnyModule model = models::registry().build(e.model.name, e.model.with_copies(), placement);
  model::freeze(*model.ptr(), e.freeze);
  if (placement.devices.size() == 1) model.ptr()->to(placement.devices.front());
  if (e.channels_last) model::to_channels_last(*model.ptr());
  return model;
}

// Reports a damaged file as a usage error, because a restart cannot help.
NamedTensors read_given(const std::filesystem::path& file) try {
  return format::read_safetensors(file);
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

// Returns the checkpoint's buckets, or none if other parameters are frozen now: then new buckets are made.
dist::Buckets fitting_buckets(const checkpoint::State& saved, const config::Experiment& e) {
  return saved.freeze == e.freeze ? saved.buckets : dist::Buckets{};
}

// On a GPU the rounding of a norm depends on where the numbers lie. Gradients that clip.norm measures therefore lie
// where Python's do, outside of the buckets.
config::Distributed ddp_options(const Task& t) {
  const auto& e = *t.experiment;
  config::Distributed options = e.distributed;
  if (e.clip.norm.value_or(0) > 0 && !first_device(t).is_cpu() && !e.logical_ranks) {
    options.gradient_as_bucket_view = options.gradient_as_bucket_view.value_or(false);
  }
  return options;
}

}  // namespace

NamedTensors given_weights(const Task& t, const torch::nn::Module& module) {
  return model::initial_weights(read_given(t.init_from), t.experiment->init_from, module, t.init_from.string());
}

std::unique_ptr<dist::Parallel> build_parallel(const Task& t, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved, bool raw) {
  const auto& e = *t.experiment;
  auto parallel = dist::parallels().build(e.parallel, config::Value::object(),
                                          {.module = build_model(t),
                                           .group = group,
                                           .devices = devices_of(t),
                                           .options = ddp_options(t),
                                           .logical_ranks = e.logical_ranks ? e.logical(t.world_size) : 0,
                                           .syncs_norms = e.syncs_batch_norm()});
  if (saved != nullptr) {
    parallel->load(saved->weights(raw), t.resume_from.string());
  } else if (!t.init_from.empty() && (t.together || t.rank == 0)) {
    // A rank that does not see the file receives rank 0's weights when the strategy starts.
    parallel->load(given_weights(t, *parallel->module().ptr()), t.init_from.string());
  }
  parallel->start(saved != nullptr ? fitting_buckets(saved->state, e) : dist::Buckets{});
  return parallel;
}

namespace {

constexpr std::size_t kNamed = 5;

// Tells whether a dataset of the experiment leaves out samples that cannot be decoded. The result is the same on every
// rank.
bool leaves_out(const config::Experiment& e) {
  const auto skips = [](const config::Component& dataset) {
    const auto option = dataset.options.find("on_bad");
    return option != dataset.options.end() && *option == "skip";
  };
  return skips(e.dataset) || skips(e.validation.dataset) || skips(e.test.dataset);
}

// Adds the lines of a text to `lines`.
void add_lines(const std::string& text, std::set<std::string>& lines) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
}

// Returns one line for each sample that this rank left out. Names are made printable, because a file name may contain a
// newline.
std::string lines_of(const data::Sets& sets) {
  std::set<std::string> names;
  for (const data::Set* set : {&sets.train, &sets.validation, &sets.test}) {
    if (!set->dataset) continue;
    for (const std::string& name : set->dataset->left_out()) names.insert(config::printable(name));
  }
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace

std::set<std::string> left_out_of_all(const Task& t, const data::Sets& sets, const dist::Group& group) {
  std::set<std::string> names;
  if (!leaves_out(*t.experiment)) return names;
  const std::vector<std::string> of_ranks = dist::all_gather_texts(group, lines_of(sets));
  if (t.rank != 0) return names;
  for (const std::string& lines : of_ranks) add_lines(lines, names);
  return names;
}

std::string in_words(const std::set<std::string>& left_out) {
  const bool one = left_out.size() == 1;
  std::string text = std::to_string(left_out.size()) + (one ? " image does" : " images do") + " not decode and " +
                     (one ? "was" : "were") + " left out: ";
  std::size_t told = 0;
  for (const std::string& name : left_out) {
    if (told == kNamed) break;
    text += (told++ > 0 ? ", " : "") + name;
  }
  return text + (left_out.size() > told ? ", …" : "");
}

void tell_left_out(const Task& t, const std::filesystem::path& file, const data::Sets& sets, const dist::Group& group) {
  std::set<std::string> names = left_out_of_all(t, sets, group);
  if (t.rank != 0 || !leaves_out(*t.experiment)) return;
  std::error_code none;
  if (std::filesystem::exists(file, none)) add_lines(record::read_text(file), names);
  if (names.empty()) return;
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  record::write_atomically(file, text);
  record::Console(t.console).line("warning: " + in_words(names) + "; all are in " + file.string());
}

}  // namespace ddp::rank
