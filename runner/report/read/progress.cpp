#include "report/read/progress.h"

#include <algorithm>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "config/text/json_text.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "report/read/step_line.h"

namespace ddp::report {
namespace {

constexpr std::uint64_t kEnd = 256 << 10;  // what is looked at: more than a thousand lines

void take_epoch(RunView& run, std::string_view text) try {
  const config::Value line = config::parse_value(text);
  const std::int64_t epoch = config::as_count(line.at("epoch"), INT32_MAX);
  run.steps = config::as_count(line.at("step"));
  run.epochs = epoch + 1;
  for (const char* name : {"train_loss", "val_loss", "val_accuracy"}) {
    const auto metric = line.find(name);
    if (metric != line.end() && metric->is_number()) run.final_metrics[name] = metric->get<double>();
  }
} catch (const std::exception&) {  // damaged: no line of ours
}

void take(RunView& run, std::string_view line) {
  if (const auto step = read_step_line(line)) {
    run.epochs = step->place.epoch;
    run.steps = step->place.step;
    run.seconds = step->place.seconds;
  } else if (line.starts_with("{\"event\":\"epoch\",")) {
    take_epoch(run, line);
  }
}

}  // namespace

void add_progress(RunView& run) try {
  const record::InputFile file(record::RunDirectory(run.folder).metrics());
  std::string text(std::min(kEnd, file.size()), '\0');
  file.read(file.size() - text.size(), text.data(), text.size());
  // The first line may be cut off, and the last one not whole yet.
  std::size_t begin = text.size() < file.size() ? text.find('\n') : 0;
  if (begin == std::string::npos) return;
  for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    take(run, std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
} catch (const Error&) {  // there is none yet
}

}  // namespace ddp::report
