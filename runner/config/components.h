#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

// The files of the key `sources`, compiled: a folder that holds what they became, and the text that they had.
struct Plugin {
  std::filesystem::path folder = {};      // empty: there is none
  std::string hash = {};                  // of all that decides it: the texts, the compiler, this build
  std::vector<std::string> sources = {};  // the files of the key, in the order of the key
  std::vector<std::string> files = {};    // the same in the folder of their texts, then the headers beside them

  bool exists() const { return !folder.empty(); }
  std::filesystem::path library() const { return folder / "plugin.so"; }
  std::filesystem::path texts() const { return folder / "sources"; }
};

// The specs of all that a file can name: every model, dataset, loss, optimizer and scheduler, by kind. Copies share
// what they hold.
class Components {
 public:
  void add(const std::string& kind, Spec spec);
  // Takes a plug-in, and what can be named where it is loaded: of each kind that `known` has, all there are.
  void add(Plugin plugin, const Components& known);
  const Plugin& plugin() const { return plugin_; }
  const Spec* find(const std::string& kind, const std::string& name) const;
  const std::map<std::string, Spec>& of(const std::string& kind) const;

  // components.json: {"version": 1, "model": [spec, …], "dataset": […], …}, written by the build.
  Value to_json() const;
  static Components from_json(const Value& json);
  // Reads components.json from the folder that the running program is in.
  static Components installed();

 private:
  using ByKind = std::map<std::string, std::map<std::string, Spec>>;
  ByKind& own();

  std::shared_ptr<ByKind> by_kind_ = std::make_shared<ByKind>();
  Plugin plugin_;
};

}  // namespace ddp::config
