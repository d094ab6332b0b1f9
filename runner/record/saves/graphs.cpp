#include "record/saves/graphs.h"

#include <unistd.h>
#include <map>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "config/value.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kGraphOrigins = "origins.json";  // {"model.path": {"path": "/home/me/net.pt2", "bytes", "hash"}}

// "model.path" becomes "model.pt2", "model.eval" becomes "eval.pt2".
std::string name_of_copy(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::string option = key.substr(dot + 1);
  return (option == "path" ? key.substr(0, dot) : option) + ".pt2";
}

// Returns the run's copies by their options.
std::map<std::string, Graph> kept_graphs(const fs::path& folder) try {
  std::map<std::string, Graph> kept;
  std::error_code none;
  if (!fs::exists(folder / kGraphOrigins, none)) return kept;
  const config::Value origins = config::Value::parse(read_text(folder / kGraphOrigins));
  for (const auto& [key, origin] : origins.items()) {
    kept[key] = {.key = key,
                 .path = origin.at("path"),
                 .file = paths::absolute(folder / name_of_copy(key)),
                 .bytes = origin.at("bytes"),
                 .hash = origin.at("hash")};
  }
  return kept;
} catch (const config::Value::exception&) {
  throw usage_error("is damaged", (folder / kGraphOrigins).string(), "put it back from a copy of the run");
}

// Calls `use` with each option that names a graph: the key, the component, the option, the path.
template <class Use>
void for_each_graph(config::Experiment& e, const Use& use) {
  for (const auto& [section, component] : {std::pair("model.", &e.model), std::pair("loss.", &e.loss)}) {
    if (component->name != "exported") continue;
    for (const char* option : {"path", "eval", "predict"}) {
      const std::string path = component->options.value(option, "");
      if (!path.empty()) use(section + std::string(option), *component, option, path);
    }
  }
}

}  // namespace

std::vector<Graph> graphs_of(config::Experiment experiment) {
  std::vector<Graph> graphs;
  for_each_graph(experiment, [&](const auto& key, auto& component, const char* option, const auto& path) {
    Graph graph{.key = key, .path = path, .file = path, .hash = {}};
    if (const auto copy = component.copies.find(option); copy != component.copies.end()) {
      graph = kept_graphs(fs::path(copy->second).parent_path())[key];
    } else if (std::error_code unreadable; fs::is_regular_file(path, unreadable) && access(path.c_str(), R_OK) == 0) {
      graph.bytes = static_cast<std::int64_t>(fs::file_size(path, unreadable));
      graph.hash = hash_hex_of(path);
    }
    graphs.push_back(std::move(graph));
  });
  return graphs;
}

void use_graphs_of(const RunDirectory& run, config::Experiment& experiment,
                   const std::function<bool(const std::string& key)>& others) {
  std::map<std::string, Graph> kept = kept_graphs(run.graphs());
  for_each_graph(experiment, [&](const auto& key, auto& component, const char* option, const auto& path) {
    if (kept[key].path == path && !(others && others(key))) component.copies[option] = kept[key].file;
  });
}

void require_same_graphs(const RunDirectory& run, const config::Experiment& experiment) {
  std::map<std::string, Graph> kept = kept_graphs(run.graphs());
  for (const Graph& graph : graphs_of(experiment)) {
    if (graph.hash == kept[graph.key].hash) continue;
    throw training_error("has changed since the run began, which has not saved yet", graph.path,
                         "restore it, or train a new run");
  }
}

// A kill between the copies and their list leaves copies that nothing names.
void keep_graphs(const RunDirectory& run, const std::vector<KeptGraph>& graphs) {
  const fs::path folder = run.graphs();
  std::map<std::string, Graph> kept = kept_graphs(folder);
  config::Value origins = config::Value::object();
  bool has_all = true;
  for (const auto& [graph, copy] : graphs) {
    origins[graph.key] = {{"path", graph.path}, {"bytes", graph.bytes}, {"hash", graph.hash}};
    has_all = has_all && kept[graph.key].path == graph.path && kept[graph.key].hash == graph.hash;
  }
  if (has_all) return;
  paths::make_folders(folder);
  std::error_code none;
  fs::remove(folder / kGraphOrigins, none);
  for (const auto& [graph, copy] : graphs) write_atomically(folder / name_of_copy(graph.key), copy);
  write_atomically(folder / kGraphOrigins, origins.dump(1, ' ', false, config::Value::error_handler_t::replace) + "\n");
}

}  // namespace ddp::record
