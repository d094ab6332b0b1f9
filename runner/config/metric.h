#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/components.h"
#include "config/option/option.h"

namespace ddp::config {

// The direction in which a metric gets better.
enum class Direction { less, greater };
// "less" or "greater".
const char* to_string(Direction direction);
// The reverse. Throws std::runtime_error where the text is neither.
Direction read_direction(const std::string& text);

// A metric that judges checkpoints and trials: its name in events, such as val_loss, and its direction.
struct Metric {
  std::string name;
  Direction direction = Direction::less;

  // A value that is not finite is never better; a finite one is better than NaN.
  bool is_better(double value, double other) const;
  // The value, or its negative, such that less is better.
  double cost(double value) const { return direction == Direction::greater ? -value : value; }
};

// "top5" is number 5 of the family "topN".
struct NumberedName {
  std::string family;
  std::int64_t number = 0;
};
// Nothing where the name does not end in a whole number, from 1 to a billion, without zeros in front.
std::optional<NumberedName> numbered_name(const std::string& name);

// The component of kind "metric" that the name stands for, itself or as one of a family; null: there is none.
const Spec* find_metric(const std::string& name, const Components& components);

// Is it a family of metrics, whose names end in a number?
bool is_family(const Spec& metric);
// Is its value a matrix, which cannot judge anything?
bool has_matrix(const Spec& metric);

// The kind of targets that a loss takes, by its trait "outputs": "classes", "labels", "numbers"; empty: not known.
std::string kind_of_targets(const Spec& loss);
// Can a metric be measured of such targets, by its trait "of"?
bool measures(const Spec& metric, const std::string& kind_of_targets);

// The metric that is measured where an experiment lists none, if the targets let it.
inline constexpr const char* kDefaultMeasure = "accuracy";

// What the names of metrics of a validation begin with, in events.
inline const std::string kOfValidation = "val_";
inline const std::string kOfTest = "test_";

// The metrics that best can mean: val_loss, val_NAME of each component of kind "metric" that has a value, train_loss.
// Families are left out.
std::vector<std::string> metric_names(const Components& components);

// The direction of the metric with that name in events: a loss is better when it is less; of val_NAME, the trait
// "direction" of the component NAME decides.
Direction direction_of(const std::string& name, const Components& components);

// Adds the names that exist to the choices of the options that name a component of a kind, also in sections. An option
// of kind "metric" names a metric as events do; one of kind "measure", as the key `metrics` does.
void supply_names(std::vector<Option>& options, const Components& components);

}  // namespace ddp::config
