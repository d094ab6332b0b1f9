#include "train/optim/grouped_optimizer.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "config/check/suggest.h"
#include "config/data_description.h"
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

}  // namespace

GroupedOptimizer::GroupedOptimizer(const config::Experiment& e, const NamedTensors& all_names) {
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
    groups_[i].optimizer = optimizer_of_group(e.optimizer, groups_[i].given, groups_[i].parameters, i);
  }
  const bool has_own =
      std::any_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.given.optimizer.has_value(); });
  if (has_own && lr() == 0) {
    throw usage_error("is 0, and a group's own lr follows the same schedule", "optimizer.lr", "give a number above 0");
  }
}

void GroupedOptimizer::step(double lr) {
  for (const Group& group : groups_) {
    const double own = group.optimizer->lr();
    group.optimizer->step(group.given.optimizer ? own * (lr / this->lr()) : lr * group.given.lr_scale);
  }
}

std::int64_t GroupedOptimizer::bytes() const {
  std::int64_t sum = 0;
  for (const Group& group : groups_) sum += group.optimizer->bytes();
  return sum;
}

NamedTensors GroupedOptimizer::state() const {
  NamedTensors all;
  for (const Group& group : groups_) {
    for (auto& one : group.optimizer->state()) all.push_back(std::move(one));
  }
  return all;
}

void GroupedOptimizer::load(const NamedTensors& state) {
  constexpr std::string_view kPrefix = "state.";
  std::vector<NamedTensors> of_groups(groups_.size());
  for (const auto& entry : state) {
    const std::string& key = entry.first;
    const std::size_t dot = key.rfind('.');
    const bool names_parameter = key.starts_with(kPrefix) && dot >= kPrefix.size();
    const auto owner = group_of_.find(names_parameter ? key.substr(kPrefix.size(), dot - kPrefix.size()) : "");
    // An optimizer rejects a key that belongs to no parameter.
    of_groups[owner == group_of_.end() ? groups_.size() - 1 : owner->second].push_back(entry);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i].optimizer->load(of_groups[i]);
}

config::Value GroupedOptimizer::description() const {
  config::Value list = config::Value::array();
  if (groups_.size() == 1) return list;
  for (const Group& group : groups_) {
    const NamedTensors trained = trained_of(group.parameters);
    config::Value options = group.given.options;
    if (group.given.optimizer) options["optimizer"] = *group.given.optimizer;
    list.push_back(config::written(config::GroupDescription{.match = group.patterns,
                                                            .options = options,
                                                            .lr_scale = group.given.lr_scale,
                                                            .parameters = model::count_of(trained),
                                                            .tensors = static_cast<std::int64_t>(trained.size())}));
  }
  return list;
}

}  // namespace ddp::train
