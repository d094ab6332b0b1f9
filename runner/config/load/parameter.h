#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/text/source.h"
#include "config/text/toml.h"

namespace ddp::config {

// A key that a sweep varies, and its possible values: a list or a range.
struct Parameter {
  std::string key = {};  // "optimizer.lr"
  SourceRange key_place = {};
  SourceRange place = {};          // of the possible values
  std::vector<Node> choices = {};  // the values of a list; empty: a range
  double min = 0;
  double max = 0;
  double step = 0;   // of a range with steps, from min; 0: every number, or every integer
  bool log = false;  // spread evenly over the logarithm
  bool integer = false;

  bool is_range() const { return choices.empty(); }
  // The value at 0 <= u < 1. Each choice, or each part of the range, gets an equal share. Numbers of a range have six
  // significant digits, which people can read and type; in a narrow range or with a small step they have more.
  Node at(double u) const;
  // The values of a list, or the ends of a range.
  std::vector<Node> samples() const;
  // The value with this number: for a range, the number itself with six digits; for a list, the value at this index.
  Node value(double number) const;
  // The reverse of value(). Returns nothing if the parameter cannot have the value.
  std::optional<double> number_of(const Value& value) const;
};

// Reads the parameters of the table [sweep.parameters] in the order of the file: "optimizer.lr" = [0.1, 0.01], or = {
// min = 1e-4, max = 0.1, scale = "log" }. Nested tables are equivalent: optimizer = { lr = [0.1, 0.01] }.
std::vector<Parameter> read_parameters(const Node& table, const std::vector<Option>& options,
                                       const Components& components, Mistakes& mistakes);

// The next two look up an option of a component in the components that `base` names or `parameters` vary: only some
// datasets have files as `inputs`. `node`: the whole file, or the table [sweep.parameters].

// TOML takes a value of the command line such as 1e5, 1.50, true or 2026-01-01 for no text. Makes it the text that was
// typed if its option takes only texts.
void keep_texts_as_typed(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components);

// Makes the paths in texts that name files absolute: sweep.toml lies in another folder than the sweep's file.
void make_paths_absolute(Node& node, const Node& base, const std::vector<Parameter>& parameters,
                         const Components& components);

}  // namespace ddp::config
