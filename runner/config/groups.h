#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/option/option.h"

namespace ddp::config {

struct Experiment;

// A condition on the number of dimensions of a parameter: "ndim<2".
struct Condition {
  std::string comparison;  // "<", "<=", ">", ">=", "=="
  std::int64_t ndim = 0;

  bool holds(std::int64_t dimensions) const;
};

// Is the text a condition rather than a pattern of names?
bool is_condition(const std::string& text);
// Returns nothing if the text is not a valid condition.
std::optional<Condition> condition_of(const std::string& text);

// One table of [[groups]]: parameters with their own options of the optimizer.
struct ParameterGroup {
  Value match;  // a pattern of names or a condition, or a list of them
  double lr_scale = 1;
  Value options = Value::object();  // options of the optimizer that the group sets, without match and lr_scale

  std::vector<std::string> patterns() const;
  void fields(Fields& f);
};

// The parameter groups of a checked experiment, in the order of the file.
std::vector<ParameterGroup> parameter_groups(const Experiment& experiment);

// Adds the options of the optimizer except lr to the keys of [[groups]]. They get no defaults: a group inherits missing
// options from [optimizer]. An empty name adds the options of every optimizer.
void supply_group_keys(std::vector<Option>& options, const Components& components, const std::string& optimizer);

}  // namespace ddp::config
