#include "report/read/progress.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/file/input_file.h"
#include "record/metrics/event_reader.h"
#include "record/metrics/metric_values.h"
#include "record/run_directory.h"

namespace ddp::report {
namespace {

using record::EventKind;

constexpr std::uint64_t kEnd = 256 << 10;  // bytes read from the end of the file: more than a thousand lines

void take(RunView& run, const record::Event& event) {
  if (!event.has_place) return;
  const bool is_step = event.kind == EventKind::step;
  run.epochs = event.epoch + (event.kind == EventKind::epoch ? 1 : 0);
  run.steps = event.step;
  if (is_step) {
    run.seconds = event.seconds;
    return;
  }
  for (const auto& [name, value] : event.numbers) {
    if (record::is_metric_name(name) && std::isfinite(value)) run.final_metrics[std::string(name)] = value;
  }
}

bool tells_progress(EventKind kind) {
  return kind == EventKind::step || kind == EventKind::epoch || kind == EventKind::validation ||
         kind == EventKind::test;
}

// Skips lines of other kinds unparsed.
void take(RunView& run, std::string_view line, record::Event& event) {
  const auto kind = record::kind_in_front(line);
  if (kind && !tells_progress(*kind)) return;
  if (record::read_event(line, event) && tells_progress(event.kind)) take(run, event);
}

}  // namespace

void add_progress(RunView& run) try {
  const record::InputFile file(record::RunDirectory(run.folder).metrics());
  std::string text(std::min(kEnd, file.size()), '\0');
  file.read(file.size() - text.size(), text.data(), text.size());
  // The first line may be cut off, and the last one incomplete.
  std::size_t begin = text.size() < file.size() ? text.find('\n') : 0;
  if (begin == std::string::npos) return;
  record::Event event;
  for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    take(run, std::string_view(text).substr(begin, end - begin), event);
    begin = end + 1;
  }
} catch (const Error&) {  // no file yet
}

}  // namespace ddp::report
