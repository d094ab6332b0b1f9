#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/check/problems.h"
#include "config/components.h"
#include "config/text/node.h"

namespace ddp::config {

// A key that a sweep varies, and the values it may have: those of a list, or those of a range.
struct Parameter {
  std::string key = {};  // "optimizer.lr"
  Place key_place = {};
  Place place = {};                // of what it may be
  std::vector<Node> choices = {};  // of a list; empty: a range
  double min = 0;
  double max = 0;
  double step = 0;   // from min, of a range with steps; 0: every number, or every integer
  bool log = false;  // spread evenly over the logarithm
  bool integer = false;

  bool is_range() const { return choices.empty(); }
  // The value at 0 <= u < 1: every choice, or every part of the range, has an equal share. Numbers of a range have six
  // digits, so that people can read and type them.
  Node at(double u) const;
  // The value with this number: of a range the number, with six digits; of a list the value at this place, from 0.
  Node value(double number) const;
  // The reverse of value(). Nothing: the parameter cannot have it.
  std::optional<double> number_of(const Value& value) const;
};

// The parameters that stand in the table [sweep.parameters], in the order of the file: "optimizer.lr" = [0.1, 0.01], or
// = { min = 1e-4, max = 0.1, scale = "log" }; a table of tables is as good: optimizer = { lr = [0.1, 0.01] }.
std::vector<Parameter> read_parameters(const Node& table, const std::vector<Option>& options,
                                       const Components& components, Problems& problems);

// What is known of the key "optimizer.lr": of a component's option, as any component of its kind has it. Null: there is
// no such key.
const Option* find_option(const std::string& key, const std::vector<Option>& options, const Components& components);

}  // namespace ddp::config
