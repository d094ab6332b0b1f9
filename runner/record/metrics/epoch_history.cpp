#include "record/metrics/epoch_history.h"

#include <string>

#include "base/error.h"
#include "record/metrics/event_reader.h"

namespace ddp::record {

EpochHistory epoch_history(const std::filesystem::path& metrics, const config::Metric& judged_by) {
  EpochHistory history;
  std::error_code none;
  if (!std::filesystem::is_regular_file(metrics, none)) return history;
  try {
    EventReader events(metrics, {EventKind::epoch, EventKind::validation});
    while (const Event* event = events.next()) {
      // Not every epoch has a validation: the last values stay.
      for (const auto& [name, value] : event->numbers) {
        if (is_metric_name(name)) set_value(history.metrics, std::string(name), value);
      }
      const double value = event->number(judged_by.name);
      if (!judged_by.is_better(value, history.best)) continue;
      history.best = value;
      history.best_step = event->step;
    }
  } catch (const Error&) {
    // The run's later epoch lines do not need the earlier ones.
  }
  return history;
}

}  // namespace ddp::record
