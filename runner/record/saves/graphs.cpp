#include "record/saves/graphs.h"

#include <unistd.h>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/paths.h"
#include "config/option/value.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWeights = "model.path";  // the other files share the weights of this one
constexpr const char* kShared = ".graphs";
constexpr const char* kGraphOrigins = "origins.json";  // the copies by their options

// "model.path" becomes "model.pt2", "model.eval" becomes "eval.pt2", "loss.eval" stays "loss.eval.pt2".
std::string name_of_copy(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::string section = key.substr(0, dot), option = key.substr(dot + 1);
  return (option == "path" ? section : section == "model" ? option : key) + ".pt2";
}

// Returns the run's copies by their options.
std::map<std::string, Graph> kept_graphs(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kGraphOrigins, none)) return {};
  auto kept = read_kept<std::map<std::string, Graph>>(folder / kGraphOrigins);
  for (auto& [key, graph] : kept) {
    graph.key = key;
    graph.file = paths::absolute(folder / name_of_copy(key));
    graph.is_whole = graph.is_whole || key != kWeights;
  }
  return kept;
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

void Graph::fields(config::Fields& f) {
  f({.name = "path"}, path);
  f({.name = "bytes"}, bytes);
  f({.name = "hash"}, hash);
  std::optional<bool> weights = key == kWeights ? std::optional(is_whole) : std::nullopt;
  f({.name = "weights", .optional = true}, weights);
  if (f.reads()) is_whole = weights.value_or(false);  // the copies of older versions have none
}

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

void use_first_graphs_of(const RunDirectory& run, config::Experiment& experiment) {
  std::map<std::string, Graph> kept = kept_graphs(run.graphs());
  std::set<std::string> changed;
  for (const Graph& graph : graphs_of(experiment)) {
    const Graph& own = kept[graph.key];
    if (graph.hash == own.hash || graph.path != own.path) continue;
    if (!own.is_whole) {
      if (graph.hash.empty()) continue;  // who reads it says that it has gone
      throw training_error("has changed since the run began, which has not saved yet", graph.path,
                           "restore it, or train a new run");
    }
    changed.insert(graph.key);
  }
  use_graphs_of(run, experiment, [&](const std::string& key) { return !changed.contains(key); });
}

namespace {

// Writes the whole file of a graph: as a link to the copy that the runs of the results folder share, else as a copy,
// which they share from then on. Throws ddp::Error (training) if the file has changed or cannot be copied.
void keep_whole(const Graph& graph, const fs::path& copy, const fs::path& results) {
  const fs::path shared = results / kShared / (graph.hash + "-" + std::to_string(graph.bytes) + ".pt2");
  std::error_code error;
  fs::remove(copy, error);
  fs::create_hard_link(shared, copy, error);
  if (!error) return;
  const fs::path unfinished = copy.string() + ".unfinished";
  fs::copy_file(graph.file, unfinished, fs::copy_options::overwrite_existing, error);
  if (error) throw training_error("cannot be copied: " + error.message(), graph.file);
  if (hash_hex_of(unfinished) != graph.hash) {
    fs::remove(unfinished, error);
    throw usage_error("has changed while the run began", graph.path, "start again");
  }
  fs::rename(unfinished, copy, error);
  if (error) throw training_error("cannot be written: " + error.message(), copy.string());
  fs::create_directory(shared.parent_path(), error);
  fs::create_hard_link(copy, shared, error);  // without it the next run copies the file again
}

}  // namespace

void remove_unused_graphs(const fs::path& results) {
  std::error_code error;
  for (fs::directory_iterator file(results / kShared, error), end; !error && file != end; file.increment(error)) {
    std::error_code stays;
    if (file->hard_link_count(stays) == 1 && !stays) fs::remove(file->path(), stays);
  }
  fs::remove(results / kShared, error);  // only if nothing is left in it
}

// A kill between the copies and their list leaves copies that nothing names.
void keep_graphs(const RunDirectory& run, const std::vector<KeptGraph>& graphs) {
  const fs::path folder = run.graphs();
  std::map<std::string, Graph> kept = kept_graphs(folder);
  config::Value origins = config::Value::object();
  bool has_all = true;
  for (const auto& [graph, copy] : graphs) {
    Graph origin = graph;
    origin.is_whole = copy.empty();
    origins[graph.key] = config::written(origin);
    has_all = has_all && kept[graph.key].path == graph.path && kept[graph.key].hash == graph.hash;
  }
  if (has_all) return;
  paths::make_folders(folder);
  std::error_code none;
  fs::remove(folder / kGraphOrigins, none);
  for (const auto& [graph, copy] : graphs) {
    if (copy.empty()) {
      keep_whole(graph, folder / name_of_copy(graph.key), run.results());
    } else {
      write_atomically(folder / name_of_copy(graph.key), copy);
    }
  }
  sync_files(folder);
  write_atomically(folder / kGraphOrigins, origins.dump(1, ' ', false, config::Value::error_handler_t::replace) + "\n");
}

}  // namespace ddp::record
