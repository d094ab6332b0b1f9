#include "launch/start/probe.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/installation.h"
#include "config/load/files.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/start/held_data.h"
#include "rank/probe.h"
#include "rank/verbs.h"
#include "record/file/input_file.h"
#include "record/file/kept_value.h"
#include "record/saves/data_files.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::size_t kMostFiles = 1000;

Value state_of(const fs::path& path) {
  struct stat s {};
  Value state = Value::array({path.string()});
  if (stat(path.c_str(), &s) != 0) return state;
  state.insert(state.end(), {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
                             s.st_ctim.tv_nsec});
  return state;
}

// Adds the state of a file, or of a folder and all that it contains, until there are too many.
void add_states(const fs::path& path, Value& states) {
  states.push_back(state_of(path));
  std::error_code error;
  if (!fs::is_directory(path, error)) return;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end && states.size() <= kMostFiles;
       entry.increment(error)) {
    states.push_back(state_of(entry->path()));
  }
}

constexpr std::size_t kMostEntries = 200;
constexpr const char* kProbes = "probes";

std::uint64_t memory_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

std::optional<Value> file_states(const config::Experiment& experiment, const std::vector<fs::path>& more) {
  Value states = Value::array();
  for (const auto& file : config::named_files(experiment)) {
    const std::string content = file.object ? file.object->content() : "";
    content.empty() ? add_states(file.path, states) : states.push_back(content);
  }
  for (const auto& file : config::default_files(experiment)) {
    for (const fs::path& place : default_places(file)) add_states(place, states);
  }
  for (const fs::path& file : more) add_states(file, states);
  if (states.size() > kMostFiles) return {};
  return states;
}

std::string probe_key(const Plan& plan, const fs::path& checkpoint, const fs::path& weights) {
  std::vector<fs::path> origins;
  for (const fs::path& origin : {checkpoint, weights}) {
    if (!origin.empty()) origins.push_back(origin);
  }
  const auto states = file_states(plan.experiment, origins);
  if (!states) return "";
  Value experiment = config::write(config::comparable(plan.experiment));
  experiment.erase("name");
  return record::hash_hex(rank::json_line({build_id(), plan.experiment.components().plugin().hash, experiment,
                                           plan.groups.front(), plan.world_size(), plan.ranks_here(),
                                           checkpoint.string(), weights.string(), *states, memory_limit()}));
}

std::optional<Value> find_reply(const std::string& key) { return record::find_kept(kProbes, key); }

void keep_reply(const std::string& key, const Value& reply) { record::keep_value(kProbes, key, reply, kMostEntries); }

rank::Probe probe(const RankLibrary& library, const Plan& plan, const fs::path& checkpoint, const fs::path& weights,
                  const HeldData& data, bool timed) {
  // The key is computed before the try: a file that changes meanwhile is tried again.
  std::string key = probe_key(plan, checkpoint, weights);
  if (timed && !key.empty()) key.insert(0, "timed-");
  if (const auto known = find_reply(key)) return config::read<rank::Probe>(*known);
  rank::Task task;
  task.experiment = &plan.experiment;
  task.devices = plan.groups.front();
  task.world_size = plan.world_size();
  task.ranks_here = plan.ranks_here();
  task.bytes_to_record = plan.bytes_to_record();
  task.resume_from = checkpoint;
  task.init_from = weights;
  task.held_data = data.file();
  const auto found = library.ask("trying model and data", task, rank::ProbeRequest{.timed = timed}, data.kept());
  keep_reply(key, config::write(found));
  return found;
}

namespace {

// Returns the archive without its weights.
std::string graph_alone(const RankLibrary& library, const std::string& archive) {
  const FileDescriptor memory(memfd_create("ddp-exp-graph", MFD_CLOEXEC));
  if (!memory) throw training_error("cannot keep the graph in memory: " + errno_text(errno), archive);
  const rank::ExportRequest request{.archive = archive, .descriptor = memory.get()};
  const rank::Exported written = library.ask("reading the graph", rank::Task{}, request, {memory.get()});
  if (written.error != 0) {
    throw training_error("cannot keep the graph in memory: " + errno_text(static_cast<int>(written.error)), archive);
  }
  return record::read_text("/proc/self/fd/" + std::to_string(memory.get()), UINT64_MAX);
}

}  // namespace

std::vector<record::KeptGraph> read_graphs(const RankLibrary& library, const Plan& plan, const HeldData& data) {
  std::vector<record::KeptGraph> graphs;
  for (record::Graph& graph : record::graphs_of(plan.experiment)) {
    // No checkpoint has the buffers of a loss.
    const bool is_loss = graph.key.starts_with("loss.");
    const bool stays_whole = graph.key == "model.path" && plan.experiment.checkpoint.initial_weights && graph.is_whole;
    std::string copy = is_loss       ? record::read_text(graph.file, UINT64_MAX)
                       : stays_whole ? ""
                                     : graph_alone(library, graph.file);
    const bool is_same = std::any_of(data.files().begin(), data.files().end(), [&](const record::DataFile& file) {
      return file.key == graph.key && file.hash == graph.hash;
    });
    if (!is_same) throw usage_error("has changed while the run began", graph.path, "start again");
    graphs.push_back({.graph = std::move(graph), .copy = std::move(copy)});
  }
  return graphs;
}

}  // namespace ddp::launch
