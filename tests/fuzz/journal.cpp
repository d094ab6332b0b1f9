// A sweep's journal.jsonl, as `resume` reads it.
#include <optional>
#include <stdexcept>

#include "sweep/journal.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

std::optional<std::vector<sweep::Event>> events_of(std::string_view text) {
  try {
    return sweep::parse_journal(text);
  } catch (const std::runtime_error& error) {
    require(is_showable(error.what()), "an error is fit for a terminal");
    return {};
  }
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto events = fuzz::events_of(text);
  if (!events) return 0;
  const auto torn = fuzz::events_of(text + "{\"event\":\"fini");
  fuzz::require(torn && torn->size() == events->size(), "a line that was not written whole is no event");
  const auto file = fuzz::scratch_file("journal.jsonl", "");
  sweep::Journal journal(file);
  for (const auto& event : *events) journal.add(event);
  const auto again = sweep::read_journal(file);
  fuzz::require(again.size() == events->size(), "a written journal reads back the same");
  for (std::size_t i = 0; i < again.size(); ++i) {
    const auto& a = (*events)[i];
    const auto& b = again[i];
    fuzz::require(a.kind == b.kind && a.trial == b.trial && a.epochs == b.epochs && a.until_epoch == b.until_epoch &&
                      a.parameters == b.parameters && a.metric == b.metric && a.seconds == b.seconds,
                  "an event is read back the same");
  }
  return 0;
}
