#pragma once

#include <map>
#include <string>

#include "train/rules/rule.h"

namespace ddp::train {

// The rules of a run, by their names in state.json: "stop", "scheduler", "scaler", "ema".
class Rules {
 public:
  // `rule` outlives this object.
  void add(const std::string& name, Rule& rule) { rules_[name] = &rule; }
  // Restores each rule. A rule without saved state starts fresh; the state of a rule that the run no longer has is
  // dropped. If a rule's state is damaged, throws ddp::Error (training) that names state.json and the rule.
  void restore(const std::map<std::string, config::Value>& saved);
  // Returns the state of each rule, for state.json.
  std::map<std::string, config::Value> state() const;

 private:
  std::map<std::string, Rule*> rules_;
};

}  // namespace ddp::train
