#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/option/fields.h"

namespace ddp::config {

// The direction in which a metric gets better.
enum class Direction { less, greater };
constexpr std::array<const char*, 2> names_of(Direction) { return {"less", "greater"}; }

// A metric that judges checkpoints or trials: its name in events, such as val_loss, and its direction.
struct Metric {
  std::string name;
  Direction direction = Direction::less;

  // A value that is not finite is never better; a finite one is better than NaN.
  bool is_better(double value, double other) const;
  // The value, negated if greater is better: a lower cost is always better.
  double cost(double value) const { return direction == Direction::greater ? -value : value; }
};

// "top5" is number 5 of the family "topN".
struct NumberedName {
  std::string family;
  std::int64_t number = 0;
};
// Returns nothing if the name does not end in a whole number from 1 to 999,999,999 without leading zeros.
std::optional<NumberedName> numbered_name(const std::string& name);

// "accuracy:kind": a metric of the output "kind" and the target of this name.
struct OutputMetric {
  std::string metric;
  std::string output;  // "": the main output and the only target
};
OutputMetric output_metric(const std::string& name);

// Can a value be recorded under this name? It becomes a key of JSON lines, a tag of TensorBoard and a column of tables.
bool is_key_of_metrics(const std::string& name);

// Returns the component of kind "metric" with this name, or the family that the name belongs to, of any output; null if
// neither exists.
const Spec* find_metric(const std::string& name, const Components& components);

// Is the metric a family, with names that end in a number?
bool is_family(const Spec& metric);
// Is the metric's value a matrix, which cannot rank checkpoints or trials?
bool has_matrix(const Spec& metric);

// The kind of targets of a loss, by its trait "outputs": "classes", "labels" or "numbers"; empty if unknown.
std::string kind_of_targets(const Spec& loss);
// Can the metric be measured on such targets, by its trait "of"?
bool measures(const Spec& metric, const std::string& kind_of_targets);

// The metric of an experiment that lists none, if the targets allow it.
inline constexpr const char* kDefaultMeasure = "accuracy";

// The prefixes of a metric's name in events, for validation and test.
inline const std::string kValidationPrefix = "val_";
inline const std::string kTestPrefix = "test_";

// The names of metrics that can judge checkpoints: val_loss, val_NAME for each component NAME of kind "metric" that has
// a value, and train_loss. Families are left out.
std::vector<std::string> metric_names(const Components& components);

// The direction of the metric with that name in events. A lower loss is better; for val_NAME, the trait "direction" of
// the component NAME decides.
Direction direction_of(const std::string& name, const Components& components);

// Does the name say which value is better? A scalar that comes with the loss does not.
bool has_direction(const std::string& name, const Components& components);
// The direction that a goal gives, "min" or "max"; without one ("") the metric's own.
Direction direction_for(const std::string& goal, const std::string& name, const Components& components);
// The key `goal` beside a metric.
Option goal_option(const std::string& doc);

// Adds the known names to the choices of options that name a component, also in sections. An option with names_kind
// "metric" takes the metric's name in events; one with names_kind "measure" takes the name in the key `metrics`.
// `gives_scalars`: a graph computes the loss, and gives other scalars, each of which is a metric.
void supply_names(std::vector<Option>& options, const Components& components, bool gives_scalars = false);

}  // namespace ddp::config
