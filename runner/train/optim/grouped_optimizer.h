#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/data_description.h"
#include "config/experiment.h"
#include "dist/collectives.h"
#include "model/named_tensors.h"
#include "train/optim/optimizer.h"

namespace ddp::train {

// How the ranks of a group divide the update. Each updates its share of every parameter's numbers and keeps only the
// state of its share. The bits do not change, because the optimizer updates each number by itself (distributed.shard).
struct Division {
  dist::Group group = nullptr;     // null: every rank updates all parameters
  bool shares_parameters = false;  // the parameters are in memory that all ranks share
};

// The optimizer of an experiment: one Optimizer for each group of parameters, like torch.optim's param_groups. A group
// has the options of [optimizer], except for the options that it sets itself. The last group holds the parameters that
// no other group matches. With [optimizer] layer_decay a group is divided by its parameters' layers: that of layer i of
// n has lr * layer_decay^(n - 1 - i).
class GroupedOptimizer {
 public:
  // `all_names`: the model's parameters, a tied one under each of its names; a pattern may match any of these names.
  // Throws ddp::Error (usage) if a pattern of groups or layers matches no parameter, or only parameters of earlier
  // ones.
  GroupedOptimizer(const config::Experiment& experiment, const NamedTensors& all_names, Division division = {});

  // Updates every parameter that has a gradient. `lr`: the learning rate of the schedule. A group with an optimizer of
  // its own has the same share of its own lr. Collective if the ranks divide the update.
  void step(double lr);
  // The base learning rate of schedulers.
  double lr() const { return groups_.back().optimizer->lr(); }
  // Returns the size of the state of all parameters, in bytes.
  std::int64_t bytes() const;

  // Gathers the shares of the state on rank 0, which keeps them until the next step. Collective.
  void collect();
  // Returns the state for a checkpoint, as "state.<parameter>.<what>". It does not depend on the groups. A tensor that
  // was not gathered since the last step is replaced by the parameter, which has the same size.
  NamedTensors state() const;
  // Loads the result of state(). Throws ddp::Error (training) if it does not fit the parameters or the options of their
  // groups.
  void load(const NamedTensors& state);

  // Returns why ranks do not divide the update of this optimizer; "": they do. `share_memory`: the parameters can be in
  // memory that all ranks share. Throws ddp::Error (usage) if distributed.shard asks for what the optimizer cannot do.
  std::string division_obstacle(const config::Experiment& experiment, int ranks, bool share_memory) const;

  // Describes the [[groups]] for `plan --json`, the rest last; empty if the experiment has no groups.
  std::vector<config::GroupDescription> description() const;
  // Describes the layers in the same way, the first one first; empty without layer_decay.
  const std::vector<config::GroupDescription>& layers() const { return layers_; }
  // The names of trained parameters that `layers` does not match; they belong to the first layer.
  const std::vector<std::string>& without_layer() const { return without_layer_; }

 private:
  // The parameters of a [[groups]] entry whose layers have the same factor of lr.
  struct Group {
    std::size_t entry = 0;  // the number of entries: the rest
    config::ParameterGroup given;
    double lr_scale = 1;      // of the group and its layer
    NamedTensors parameters;  // tied ones once
    std::unique_ptr<Optimizer> optimizer;
  };

  // A parameter, and the part of it that this rank updates.
  struct Divided {
    at::Tensor parameter;
    at::Tensor share;
  };

  NamedTensors shares_of(const NamedTensors& parameters);
  void give_gradients_to_shares();
  void join_parameters();
  NamedTensors own_state() const;
  // The parameter whose shares a tensor of the state belongs to; null: every rank has the whole tensor.
  const Divided* divided(const std::string& key) const;
  bool divides() const { return division_.group != nullptr; }

  const Division division_;
  std::map<std::string, Divided> divided_;  // by the first name of a parameter
  std::vector<Group> groups_;
  std::vector<config::GroupDescription> layers_;
  std::vector<std::string> without_layer_;
  std::map<std::string, std::size_t> group_of_;  // by the first name of a parameter
  NamedTensors collected_;                       // the state, while it is gathered
};

}  // namespace ddp::train
