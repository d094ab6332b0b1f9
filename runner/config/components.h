#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/option/fields.h"

namespace ddp::config {

// The result of compiling the files of the key `sources`: the folder that holds it, and the sources.
struct Plugin {
  std::filesystem::path folder = {};      // empty: no plug-in
  std::string hash = {};                  // of the texts of the sources, the compiler and this build
  std::vector<std::string> sources = {};  // the files of the key, in its order
  std::vector<std::string> files = {};    // the same files in texts(), then the headers beside them

  bool exists() const { return !folder.empty(); }
  std::filesystem::path library() const { return folder / "plugin.so"; }
  std::filesystem::path texts() const { return folder / "sources"; }
};

// The specs of all components that a file can name (models, datasets, losses, optimizers, schedulers, ...), by kind.
// Copies share their specs.
class Components {
 public:
  void add(const std::string& kind, Spec spec);
  // Takes a plug-in and the components that a process with this plug-in knows. They replace all components of the kinds
  // that `known` has.
  void add(Plugin plugin, const Components& known);
  const Plugin& plugin() const { return plugin_; }
  const Spec* find(const std::string& kind, const std::string& name) const;
  const std::map<std::string, Spec>& of(const std::string& kind) const;

  // components.json: {"version": 1, "model": [spec, …], "dataset": […], …}, written by the build.
  Value to_json() const;
  static Components from_json(const Value& json);
  // Reads components.json from the folder of the running program.
  static Components installed();

 private:
  using ByKind = std::map<std::string, std::map<std::string, Spec>>;
  ByKind& own();

  std::shared_ptr<ByKind> by_kind_ = std::make_shared<ByKind>();
  Plugin plugin_;
};

// The properties of a parallel strategy (`parallel`) that a plan needs.
struct Strategy {
  bool one_process = false;  // one rank, without communication
  bool all_devices = false;  // the one rank has all devices of the pool, with a whole model on each
};

// Reads these properties from the traits of a dist::Parallel.
inline Strategy strategy_of(const Value& traits) {
  return {.one_process = traits.value("ranks", "one") == "one", .all_devices = traits.value("devices", "") == "all"};
}

// The properties of a backend (distributed.backend) that a plan needs.
struct Transport {
  std::string devices = {};    // of the ranks: "cpu" or "cuda"; empty: any
  bool shares_memory = false;  // of ranks that one process on each machine forks
  int choice = 0;              // "auto" takes the smallest that fits
};

// Reads these properties from the traits of a backend (dist/backends).
inline Transport transport_of(const Value& traits) {
  return {.devices = traits.value("devices", ""),
          .shares_memory = traits.value("shares_memory", false),
          .choice = traits.value("choice", 0)};
}

}  // namespace ddp::config
