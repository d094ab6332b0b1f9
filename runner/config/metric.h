#pragma once

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

// The metrics that best can mean: val_loss, val_NAME of each component of kind "metric", train_loss.
std::vector<std::string> metric_names(const Components& components);

// The direction of the metric with that name in events: a loss is better when it is less; of val_NAME, the trait
// "direction" of the component NAME decides.
Direction direction_of(const std::string& name, const Components& components);

// Adds the names that exist to the choices of the options that name a component of a kind, also in sections. An option
// of kind "metric" names a metric as events do.
void supply_names(std::vector<Option>& options, const Components& components);

}  // namespace ddp::config
