#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/groups.h"
#include "model/named_tensors.h"
#include "train/optim/optimizer.h"

namespace ddp::train {

// The optimizer of an experiment: one Optimizer for each group of parameters, as torch.optim's param_groups. A group's
// options are those of [optimizer] with what the group gives in their place. What no group matches is the last group.
class GroupedOptimizer {
 public:
  // `all_names`: the model's parameters, a tied one under each of its names; a pattern may match any of them. Throws
  // ddp::Error (usage) where a pattern matches no parameter, or none that earlier groups left over.
  GroupedOptimizer(const config::Experiment& experiment, const NamedTensors& all_names);

  // Changes every parameter that has a gradient; `lr` is the schedule's.
  void step(double lr);
  // The lr that schedulers start from.
  double lr() const { return groups_.back().optimizer->lr(); }
  // Returns how many bytes the state of all parameters takes.
  std::int64_t bytes() const;

  // The state as a checkpoint keeps it, "state.<parameter>.<what>": it does not depend on the groups.
  NamedTensors state() const;
  // Takes it back. Throws ddp::Error (training) where it does not fit the parameters or the options of their groups.
  void load(const NamedTensors& state);

  // Describes the groups, the rest last, as `plan --json` does; empty where the experiment gives none.
  config::Value description() const;

 private:
  struct Group {
    config::ParameterGroup given;
    std::vector<std::string> patterns;  // none: the rest
    NamedTensors parameters;            // each once
    std::unique_ptr<Optimizer> optimizer;
  };

  std::vector<Group> groups_;
  std::map<std::string, std::size_t> group_of_;  // by the name of a parameter, under its first name
};

}  // namespace ddp::train
