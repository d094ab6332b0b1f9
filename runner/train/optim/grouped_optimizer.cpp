#include "train/optim/grouped_optimizer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
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

// The place of a parameter in the order of layers: its entry of `layers`, the numbers at "*", and kAfterAll.
using LayerPlace = std::vector<std::uint64_t>;
constexpr std::uint64_t kAfterAll = std::numeric_limits<std::uint64_t>::max();

// Matches the first parts of a name: for "blocks.*" and "blocks.3.weight" returns 8, the size of "blocks.3", and adds 3
// to the place. 0: no match.
std::size_t match_beginning(const std::string& pattern, const std::string& name, LayerPlace& place) {
  std::size_t size = 0;
  for (const char c : pattern) {
    if (size == name.size() || (c != '*' && c != name[size])) return 0;
    const char* const at = name.data() + size;
    const char* const end =
        c == '*' ? std::from_chars(at, name.data() + name.size(), place.emplace_back()).ptr : at + 1;
    if (end == at) return 0;
    size += static_cast<std::size_t>(end - at);
  }
  return size == name.size() || name[size] == '.' ? size : 0;
}

// Returns the beginning of a name with as many parts as the pattern, and with "*" for numbers if the pattern has one.
std::string beginning_like(const std::string& pattern, const std::string& name) {
  auto dots = std::count(pattern.begin(), pattern.end(), '.');
  const bool has_numbers = pattern.find('*') != std::string::npos;
  std::string beginning;
  for (const char c : name) {
    if (c == '.' && dots-- == 0) break;
    const bool is_digit = has_numbers && c >= '0' && c <= '9';
    if (!is_digit || !beginning.ends_with('*')) beginning += is_digit ? '*' : c;
  }
  return beginning;
}

// A list of the experiment file whose entries have patterns.
struct PatternList {
  const char* key;  // of the patterns of entry i: key[i]after
  const char* after;
  const char* entry;   // in words
  const char* syntax;  // for a pattern that matches nothing
  bool of_beginnings;  // the patterns are of beginnings of names
};
constexpr PatternList kGroups{"groups", ".match", "group", "* stands for any characters", false};
constexpr PatternList kLayers{"optimizer.layers", "", "layer",
                              "* stands for one number, and the rest of a name is left out", true};

// Assigns each parameter to the first entry of a list that matches it. Tied parameters count as one.
class Deal {
 public:
  // The first match of a parameter.
  struct Owner {
    std::size_t entry = 0;
    std::string pattern = {};
    std::string name = {};
  };

  Deal(const NamedTensors& all_names, const PatternList& list) : all_names_(all_names), list_(list) {}

  void take(std::size_t entry, const std::string& pattern) {
    bool any = false;
    bool is_new = false;
    std::size_t before = 0;
    for (const auto& [name, tensor] : all_names_) {
      if (!matches(pattern, name, tensor)) continue;
      any = true;
      const auto [owner, first] =
          owners_.emplace(tensor.unsafeGetTensorImpl(), Owner{.entry = entry, .pattern = pattern, .name = name});
      is_new = is_new || first || owner->second.entry == entry;
      if (!first) before = owner->second.entry;
    }
    const auto key_of = [&](std::size_t i) { return std::string(list_.key) + "[" + std::to_string(i) + "]"; };
    const std::string key = key_of(entry) + list_.after;
    if (!any) throw usage_error("\"" + pattern + "\" matches no parameter of the model", key, names_near(pattern));
    if (!is_new) {
      throw usage_error("every parameter that \"" + pattern + "\" matches belongs to an earlier " + list_.entry +
                            " already, such as " + key_of(before),
                        key,
                        std::string("a parameter belongs to its first match: move this ") + list_.entry +
                            " up, or narrow the others");
    }
  }

  // Null: no pattern matches the parameter.
  const Owner* owner(const at::Tensor& parameter) const {
    const auto found = owners_.find(parameter.unsafeGetTensorImpl());
    return found == owners_.end() ? nullptr : &found->second;
  }

 private:
  bool matches(const std::string& pattern, const std::string& name, const at::Tensor& parameter) const {
    LayerPlace place;
    if (list_.of_beginnings) return match_beginning(pattern, name, place) > 0;
    const auto condition = config::condition_of(pattern);
    return condition ? condition->holds(parameter.dim()) : model::matches_name(pattern, name);
  }

  std::string names_near(const std::string& pattern) const {
    if (config::is_condition(pattern) || all_names_.empty()) return "";
    std::vector<std::string> names;
    for (const auto& [name, tensor] : all_names_) {
      names.push_back(list_.of_beginnings ? beginning_like(pattern, name) : name);
    }
    const std::string near = config::nearest(pattern, names);
    if (!near.empty()) return "did you mean \"" + near + "\"? " + list_.syntax;
    return "use the names of state_dict(), such as \"" + names.front() + "\"; " + list_.syntax;
  }

  const NamedTensors& all_names_;
  const PatternList& list_;
  std::unordered_map<const void*, Owner> owners_;
};

// The layers of [optimizer] layers.
struct Layers {
  std::vector<config::GroupDescription> list = {};           // the first one first; empty: no layer_decay
  std::unordered_map<const void*, std::size_t> owners = {};  // the layer of each parameter
  std::vector<std::string> unmatched = {};                   // trained parameters that no pattern matches

  double lr_scale(const at::Tensor& parameter) const {
    return list.empty() ? 1 : list[owners.at(parameter.unsafeGetTensorImpl())].lr_scale;
  }
};

Layers layers_of(const config::LayerDecay& given, const NamedTensors& all_names) {
  Layers layers;
  if (!given.layers) return layers;
  Deal deal(all_names, kLayers);
  for (std::size_t i = 0; i < given.layers->size(); ++i) {
    std::istringstream patterns((*given.layers)[i] + "|");
    for (std::string pattern; std::getline(patterns, pattern, '|');) deal.take(i, pattern);
  }
  std::map<LayerPlace, NamedTensors> places;  // the parameters, under what the patterns match of their names
  NamedTensors others;
  for (const auto& [name, tensor] : each_once(all_names)) {
    const Deal::Owner* const owner = deal.owner(tensor);
    if (owner == nullptr) {
      others.emplace_back("", tensor);
      if (tensor.requires_grad()) layers.unmatched.push_back(name);
      continue;
    }
    LayerPlace place{owner->entry};
    const std::size_t size = match_beginning(owner->pattern, owner->name, place);
    place.push_back(kAfterAll);
    places[place].emplace_back(owner->name.substr(0, size), tensor);
  }
  NamedTensors& first = places.begin()->second;
  first.insert(first.end(), others.begin(), others.end());
  LayerPlace before;
  for (const auto& [place, parameters] : places) {
    // A pattern without a number, beside one with numbers, belongs to the layer of the last of them.
    const auto other = std::mismatch(place.begin(), place.end(), before.begin(), before.end()).first;
    if (other == place.begin() || *other != kAfterAll) layers.list.emplace_back();
    config::GroupDescription& layer = layers.list.back();
    for (const auto& [beginning, tensor] : parameters) {
      layers.owners[tensor.unsafeGetTensorImpl()] = layers.list.size() - 1;
      layer.parameters += tensor.requires_grad() ? tensor.numel() : 0;
      layer.tensors += tensor.requires_grad() ? 1 : 0;
      const bool is_new = std::find(layer.match.begin(), layer.match.end(), beginning) == layer.match.end();
      if (is_new && !beginning.empty()) layer.match.push_back(beginning);
    }
    before = place;
  }
  for (std::size_t i = 0; i < layers.list.size(); ++i) {
    layers.list[i].lr_scale = std::pow(given.layer_decay.value_or(1), layers.list.size() - 1 - i);
  }
  return layers;
}

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
  Layers layers = layers_of(config::read<config::LayerDecay>(e.optimizer.options), all_names);
  Deal deal(all_names, kGroups);
  std::vector<config::ParameterGroup> all_given = config::parameter_groups(e);
  for (std::size_t i = 0; i < all_given.size(); ++i) {
    for (const std::string& pattern : all_given[i].patterns()) deal.take(i, pattern);
  }
  all_given.emplace_back();  // of the parameters that no other one matches
  // A group's parameters by their layers' factor of lr: those with one factor are updated together.
  std::vector<std::map<double, NamedTensors>> parts(all_given.size());
  for (const auto& [name, tensor] : each_once(all_names)) {
    const Deal::Owner* owner = deal.owner(tensor);
    parts[owner == nullptr ? parts.size() - 1 : owner->entry][layers.lr_scale(tensor)].emplace_back(name, tensor);
  }
  if (parts.back().empty()) parts.back()[1];  // the last group has the lr of schedules
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (auto& [lr_scale, parameters] : parts[i]) {
      for (const auto& [name, tensor] : parameters) group_of_[name] = groups_.size();
      auto optimizer = optimizer_of_group(e.optimizer, all_given[i], divides() ? shares_of(parameters) : parameters, i);
      groups_.push_back({.entry = i,
                         .given = all_given[i],
                         .lr_scale = all_given[i].lr_scale * lr_scale,
                         .parameters = std::move(parameters),
                         .optimizer = std::move(optimizer)});
    }
  }
  layers_ = std::move(layers.list);
  without_layer_ = std::move(layers.unmatched);
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
    group.optimizer->step((group.given.optimizer ? own * (lr / this->lr()) : lr) * group.lr_scale);
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
  if (groups_.back().entry == 0) return list;
  for (const Group& group : groups_) {
    if (group.entry == list.size()) {
      config::Value options = group.given.options;
      if (group.given.optimizer) options["optimizer"] = *group.given.optimizer;
      list.push_back({.match = group.given.patterns(), .options = options, .lr_scale = group.given.lr_scale});
    }
    const NamedTensors trained = trained_of(group.parameters);
    list.back().parameters += model::count_of(trained);
    list.back().tensors += static_cast<std::int64_t>(trained.size());
  }
  return list;
}

}  // namespace ddp::train
