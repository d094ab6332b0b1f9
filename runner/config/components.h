#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/option/option.h"

namespace ddp::config {

// What can be named in a file: the specs of every model, dataset, loss, optimizer and scheduler, by kind.
class Components {
 public:
  void add(const std::string& kind, Spec spec);
  const Spec* find(const std::string& kind, const std::string& name) const;
  const std::map<std::string, Spec>& of(const std::string& kind) const;

  // components.json: {"version": 1, "model": [spec, …], "dataset": […], …}, written by the build.
  Value to_json() const;
  static Components from_json(const Value& json);
  // Reads components.json from the folder that the running program is in.
  static Components installed();

 private:
  std::map<std::string, std::map<std::string, Spec>> by_kind_;
};

}  // namespace ddp::config
