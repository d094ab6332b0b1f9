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
  // False where it holds for no number of dimensions.
  bool can_hold() const;
};

// Tells whether the text is meant as a condition, and not as the pattern of a name.
bool is_condition(const std::string& text);
// Nothing where the text is none.
std::optional<Condition> condition_of(const std::string& text);

// One table of [[groups]]: parameters that have options of the optimizer of their own.
struct ParameterGroup {
  Value match;  // a pattern of names or a condition, or a list of them
  double lr_scale = 1;
  Value options = Value::object();  // those of the optimizer that the group gives; no field of its own

  std::vector<std::string> patterns() const;
  void fields(Fields& f);
};

// The groups of an experiment that was checked, in the file's order.
std::vector<ParameterGroup> parameter_groups(const Experiment& experiment);

// Adds the options of the optimizer, but lr, to the keys of [[groups]], without defaults: what a group leaves out is as
// [optimizer] says. An empty name adds those of every optimizer.
void supply_group_keys(std::vector<Option>& options, const Components& components, const std::string& optimizer);

}  // namespace ddp::config
