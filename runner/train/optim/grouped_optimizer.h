#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "model/named_tensors.h"
#include "train/optim/optimizer.h"

namespace ddp::train {

// The optimizer of an experiment: one Optimizer for each group of parameters, like torch.optim's param_groups. A group
// has the options of [optimizer], except for the options that it sets itself. The last group holds the parameters that
// no other group matches.
class GroupedOptimizer {
 public:
  // `all_names`: the model's parameters, a tied one under each of its names; a pattern may match any of these names.
  // Throws ddp::Error (usage) if a pattern matches no parameter, or only parameters of earlier groups.
  GroupedOptimizer(const config::Experiment& experiment, const NamedTensors& all_names);

  // Updates every parameter that has a gradient. `lr`: the learning rate of the schedule. A group with an optimizer of
  // its own has the same share of its own lr.
  void step(double lr);
  // The base learning rate of schedulers.
  double lr() const { return groups_.back().optimizer->lr(); }
  // Returns the size of the state of all parameters, in bytes.
  std::int64_t bytes() const;

  // Returns the state for a checkpoint, as "state.<parameter>.<what>". It does not depend on the groups.
  NamedTensors state() const;
  // Loads the result of state(). Throws ddp::Error (training) if it does not fit the parameters or the options of their
  // groups.
  void load(const NamedTensors& state);

  // Describes the groups for `plan --json`, the rest last; empty if the experiment has no groups.
  config::Value description() const;

 private:
  struct Group {
    config::ParameterGroup given;
    std::vector<std::string> patterns;  // empty: the rest
    NamedTensors parameters;            // tied ones once
    std::unique_ptr<Optimizer> optimizer;
  };

  std::vector<Group> groups_;
  std::map<std::string, std::size_t> group_of_;  // by the first name of a parameter
};

}  // namespace ddp::train
