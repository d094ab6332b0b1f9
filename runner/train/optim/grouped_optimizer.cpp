#include "train/optim/grouped_optimizer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "config/check/suggest.h"
#include "config/data_description.h"
#include "dist/shares.h"
#include "model/weights.h"

namespace ddp::train {
namespace {

bool matches_group(const std::string& pattern, const std::string& name, const at::Tensor& parameter) {
  if (const auto condition = config::condition_of(pattern)) return condition->holds(parameter.dim());
  return model::matches_name(pattern, name);
}

// Assigns each parameter to a group. Tied parameters count as one.
class Deal {
 public:
  explicit Deal(const NamedTensors& all_names) : all_names_(all_names) {}

  void take(std::size_t group, const std::string& pattern) {
    bool any = false;
    bool is_new = false;
    std::size_t before = 0;
    for (const auto& [name, tensor] : all_names_) {
      if (!matches_group(pattern, name, tensor)) continue;
      any = true;
      const auto [owner, first] = owners_.emplace(tensor.unsafeGetTensorImpl(), group);
      is_new = is_new || first || owner->second == group;
      if (!first) before = owner->second;
    }
    const std::string key = "groups[" + std::to_string(group) + "].match";
    if (!any) throw usage_error("\"" + pattern + "\" matches no parameter of the model", key, names_near(pattern));
    if (!is_new) {
      throw usage_error("every parameter that \"" + pattern +
                            "\" matches belongs to an earlier group already, such as groups[" + std::to_string(before) +
                            "]",
                        key, "a parameter belongs to its first match: move this group up, or narrow the others");
    }
  }

  std::size_t owner(const at::Tensor& parameter, std::size_t rest) const {
    const auto found = owners_.find(parameter.unsafeGetTensorImpl());
    return found == owners_.end() ? rest : found->second;
  }

 private:
  std::string names_near(const std::string& pattern) const {
    if (config::is_condition(pattern) || all_names_.empty()) return "";
    std::vector<std::string> names;
    for (const auto& [name, tensor] : all_names_) names.push_back(name);
    const std::string near = config::nearest(pattern, names);
    if (!near.empty()) return "did you mean \"" + near + "\"? * stands for any characters";
    return "use the names of state_dict(), such as \"" + names.front() + "\"; * stands for any characters";
  }

  const NamedTensors& all_names_;
  std::unordered_map<const void*, std::size_t> owners_;
};

// Builds the optimizer of a group of parameters. An error in the group's options names the group: "groups[1].nesterov".
std::unique_ptr<Optimizer> optimizer_of_group(const config::Component& chosen, const config::ParameterGroup& given,
                                              const NamedTensors& parameters, std::size_t index) try {
  if (given.optimizer) return optimizers().build(*given.optimizer, given.options, parameters);
  config::Value options = chosen.options;
  options.update(given.options);
  return optimizers().build(chosen.name, options, parameters);
} catch (const Error& error) {
  constexpr std::string_view kSection = "optimizer.";
  if (given.optimizer && error.where() == "optimizer") {
    throw usage_error(error.summary(), "groups[" + std::to_string(index) + "]", error.remedy());
  }
  const std::string option = error.where().substr(std::min(kSection.size(), error.where().size()));
  if (given.options.empty() || !error.where().starts_with(kSection)) throw;
  const std::string group = "groups[" + std::to_string(index) + "]";
  throw usage_error(error.summary(), given.options.contains(option) ? group + "." + option : group, error.remedy());
}

// Splits the name of a tensor of the state, "state.<parameter>.<what>", into parameter and what; "": it is not such a
// name.
std::pair<std::string, std::string> parts_of(const std::string& key) {
  constexpr std::string_view kPrefix = "state.";
  const std::size_t dot = key.rfind('.');
  if (!key.starts_with(kPrefix) || dot < kPrefix.size()) return {};
  return {key.substr(kPrefix.size(), dot - kPrefix.size()), key.substr(dot + 1)};
}

// Ranks that divide an update wait for each other, and read what others wrote. With fewer bytes of state, and of
// parameters, that takes longer than the whole update.
constexpr std::int64_t kLeastState = 8 << 20;
constexpr std::int64_t kLeastParameters = 8 << 20;

}  // namespace

GroupedOptimizer::GroupedOptimizer(const config::Experiment& e, const NamedTensors& all_names, Division division)
    : division_(std::move(division)) {
  Deal deal(all_names);
  for (config::ParameterGroup& given : config::parameter_groups(e)) {
    const std::vector<std::string> patterns = given.patterns();
    for (const std::string& pattern : patterns) deal.take(groups_.size(), pattern);
    groups_.push_back({.given = std::move(given), .patterns = patterns, .parameters = {}, .optimizer = {}});
  }
  groups_.push_back({});
  for (const auto& [name, tensor] : each_once(all_names)) {
    const std::size_t owner = deal.owner(tensor, groups_.size() - 1);
    groups_[owner].parameters.emplace_back(name, tensor);
    group_of_[name] = owner;
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const NamedTensors& parameters = groups_[i].parameters;
    groups_[i].optimizer =
        optimizer_of_group(e.optimizer, groups_[i].given, divides() ? shares_of(parameters) : parameters, i);
  }
  const bool has_own =
      std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.given.optimizer.has_value(); });
  if (has_own && lr() == 0) {
    throw usage_error("is 0, and a group's own lr follows the same schedule", "optimizer.lr", "give a number above 0");
  }
}

NamedTensors GroupedOptimizer::shares_of(const NamedTensors& parameters) {
  NamedTensors shares;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad() || parameter.numel() == 0) {
      shares.emplace_back(name, parameter);
      continue;
    }
    const at::Tensor share = dist::share_of(parameter, division_.group);
    share.set_requires_grad(true);
    shares.emplace_back(name, share);
    divided_[name] = {.parameter = parameter, .share = share};
  }
  return shares;
}

void GroupedOptimizer::give_gradients_to_shares() {
  const at::NoGradGuard no_grad;
  for (auto& [name, one] : divided_) {
    at::Tensor gradient = one.parameter.grad();
    if (gradient.defined() && gradient.strides() != one.parameter.strides()) {
      gradient = dist::laid_out_as(one.parameter).copy_(gradient);
    }
    const bool none = !gradient.defined() || one.share.numel() == 0;
    one.share.mutable_grad() = none ? at::Tensor() : dist::share_of(gradient, division_.group);
  }
}

void GroupedOptimizer::join_parameters() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> shares;
  std::vector<at::Tensor> parameters;
  for (const auto& [name, one] : divided_) {
    if (!one.parameter.grad().defined()) continue;
    shares.push_back(one.share.detach());
    parameters.push_back(one.parameter.detach());
  }
  dist::join_shares(shares, parameters, division_.group);
}

void GroupedOptimizer::step(double lr) {
  collected_.clear();
  if (divides()) give_gradients_to_shares();
  // No rank computes with the parameters or copies them for a save while another one changes them.
  if (division_.shares_parameters) dist::barrier(division_.group);
  for (const Group& group : groups_) {
    const double own = group.optimizer->lr();
    group.optimizer->step(group.given.optimizer ? own * (lr / this->lr()) : lr * group.given.lr_scale);
  }
  for (auto& [name, one] : divided_) one.share.mutable_grad().reset();  // it would keep a bucket that is replaced
  if (division_.shares_parameters) {
    dist::barrier(division_.group);
  } else if (divides()) {
    join_parameters();
  }
}

std::int64_t GroupedOptimizer::bytes() const {
  std::int64_t sum = 0;
  for (const Group& group : groups_) sum += group.optimizer->bytes();
  return sum;
}

const GroupedOptimizer::Divided* GroupedOptimizer::divided(const std::string& key) const {
  const auto [owner, what] = parts_of(key);
  const auto found = divided_.find(owner);
  return found == divided_.end() || is_one_number(what) ? nullptr : &found->second;
}

void GroupedOptimizer::collect() {
  if (!divides()) return;
  const at::NoGradGuard no_grad;
  NamedTensors own = own_state();
  // A rank whose share is empty has no state of the parameter; rank 0 has all.
  config::Value keys = config::Value::array();
  for (const auto& [key, tensor] : own) keys.push_back(key);
  keys = config::Value::parse(dist::all_gather_texts(division_.group, keys.dump()).front());
  collected_.clear();
  for (const config::Value& one : keys) {
    const auto key = one.get<std::string>();
    at::Tensor tensor = tensor_named(key, own);
    if (const Divided* divided = this->divided(key)) {
      const at::Tensor whole = dist::laid_out_as(divided->parameter);
      dist::join_shares({tensor.defined() ? tensor : divided->share.detach()}, {whole}, division_.group);
      tensor = whole;
    }
    if (dist::rank_in(division_.group) == 0) collected_.emplace_back(key, tensor);
  }
}

NamedTensors GroupedOptimizer::state() const {
  if (!collected_.empty()) return collected_;
  NamedTensors state = own_state();
  for (auto& [key, tensor] : state) {
    if (const Divided* divided = this->divided(key)) tensor = divided->parameter.detach();
  }
  return state;
}

NamedTensors GroupedOptimizer::own_state() const {
  NamedTensors all;
  for (const Group& group : groups_) {
    for (auto& one : group.optimizer->state()) all.push_back(std::move(one));
  }
  return all;
}

void GroupedOptimizer::load(const NamedTensors& state) {
  std::vector<NamedTensors> of_groups(groups_.size());
  for (auto [key, tensor] : state) {
    const auto owner = group_of_.find(parts_of(key).first);
    const Divided* divided = this->divided(key);
    // An optimizer rejects what does not fit the parameter.
    if (divided != nullptr && tensor.sizes() == divided->parameter.sizes() &&
        tensor.scalar_type() == divided->parameter.scalar_type()) {
      tensor = dist::share_of(dist::laid_out_as(divided->parameter).copy_(tensor), division_.group);
    }
    // An optimizer rejects a key that belongs to no parameter.
    of_groups[owner == group_of_.end() ? groups_.size() - 1 : owner->second].emplace_back(key, tensor);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].optimizer->load(of_groups[i]);
}

std::string GroupedOptimizer::division_obstacle(const config::Experiment& e, int ranks, bool share_memory) const {
  const std::string& shard = e.distributed.shard;
  if (shard == "none") return "distributed.shard = \"none\"";
  if (ranks == 1 || e.parallel != "ddp") return "one process updates the parameters";
  std::int64_t parameter_bytes = 0;
  for (const Group& group : groups_) {
    const std::string name = group.given.optimizer.value_or(e.optimizer.name);
    if (!optimizers().traits(name).contains(kNumberByNumber)) {
      if (shard == "auto") return "the optimizer " + name + " looks at whole parameters";
      throw usage_error("the optimizer " + name + " looks at whole parameters, so ranks cannot divide its update",
                        "distributed.shard", "--set distributed.shard=none");
    }
    for (const auto& [parameter, tensor] : group.parameters) {
      if (!tensor.is_non_overlapping_and_dense()) return "the parameter " + parameter + " has gaps in memory";
    }
    parameter_bytes += model::bytes_of(group.parameters);
  }
  if (shard == "optimizer") return "";
  if (!share_memory) return "the ranks do not share memory";
  return bytes() < kLeastState && parameter_bytes < kLeastParameters ? "the model is small" : "";
}

std::vector<config::GroupDescription> GroupedOptimizer::description() const {
  std::vector<config::GroupDescription> list;
  if (groups_.size() == 1) return list;
  for (const Group& group : groups_) {
    const NamedTensors trained = trained_of(group.parameters);
    config::Value options = group.given.options;
    if (group.given.optimizer) options["optimizer"] = *group.given.optimizer;
    list.push_back({.match = group.patterns,
                    .options = options,
                    .lr_scale = group.given.lr_scale,
                    .parameters = model::count_of(trained),
                    .tensors = static_cast<std::int64_t>(trained.size())});
  }
  return list;
}

}  // namespace ddp::train
