#include "record/metrics/rewind.h"

#include <string>

#include "base/error.h"
#include "record/file/atomic_file.h"
#include "record/metrics/event_reader.h"

namespace ddp::record {
namespace {

// Longer lines are damaged: the longest valid lines belong to a resume that changed many keys.
constexpr std::size_t kLongestKept = 16 << 20;

// Does the event belong to the run up to this point? A test does not: a resumed run is tested again.
bool belongs(const Event& event, std::int64_t step, std::int64_t epoch) {
  if (event.kind == EventKind::test) return false;
  return event.step <= step && (event.kind != EventKind::epoch || event.epoch < epoch);
}

std::string lines_up_to(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) try {
  EventReader events(file, {}, kLongestKept);
  std::string kept;
  const auto keep = [&](const Event& event) {
    if (belongs(event, step, epoch)) kept.append(events.line()).append("\n");
  };
  while (const Event* event = events.next()) keep(*event);
  // A last line without its newline may be whole.
  if (const Event* event = events.unfinished()) keep(*event);
  return kept;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where());
}

}  // namespace

void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return;
  if (error) throw usage_error("cannot be read: " + error.message(), file.string());
  if (!std::filesystem::is_regular_file(status)) throw usage_error("is not a regular file", file.string());
  write_atomically(file, lines_up_to(file, step, epoch));
}

}  // namespace ddp::record
