#pragma once

#include <map>
#include <string>

#include "train/rules/rule.h"

namespace ddp::train {

// The rules of a run under their names in state.json: "stop", "scheduler", "scaler", "ema".
class Rules {
 public:
  // `rule` outlives this.
  void add(const std::string& name, Rule& rule) { rules_[name] = &rule; }
  // Gives each rule its saved numbers. A rule without any begins anew; the numbers of a rule that the run no longer has
  // are dropped. Throws ddp::Error (training) that names state.json and the rule whose numbers are damaged.
  void restore(const std::map<std::string, config::Value>& saved);
  // Returns the numbers of each rule, for state.json.
  std::map<std::string, config::Value> state() const;

 private:
  std::map<std::string, Rule*> rules_;
};

}  // namespace ddp::train
