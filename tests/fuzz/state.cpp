// A checkpoint's state.json, as a rank and as the parent read it.
#include <optional>

#include "base/error.h"
#include "checkpoint/state.h"
#include "record/file/input_file.h"
#include "record/saves/checkpoint_index.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

// Requires that the error's text is safe for a terminal.
template <class Read>
auto read(Read what) -> std::optional<decltype(what())> {
  try {
    return what();
  } catch (const Error& error) {
    require(is_showable(error.what()), "an error is fit for a terminal");
    return {};
  }
}

// A checkpoint with this state.json and a matching COMPLETE.
std::filesystem::path checkpoint_with(const std::string& text) {
  static const std::filesystem::path others[] = {scratch_file("model.safetensors", "m"),
                                                 scratch_file("optimizer.safetensors", "o")};
  scratch_file("state.json", text);
  scratch_file(record::kComplete, record::hash_hex(text) + "\n");
  return others[0].parent_path();
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto folder = fuzz::checkpoint_with(text);
  fuzz::require(record::is_complete(folder), "COMPLETE says that state.json is whole");
  fuzz::require(fuzz::is_showable(record::damage_of(folder)), "the error is safe for a terminal");
  const auto position = fuzz::read([&] { return record::position_of(folder); });
  const auto state = fuzz::read([&] { return checkpoint::parse_state(text, "state.json"); });
  if (!state) return 0;
  fuzz::require(position && position->step == state->step && position->epoch == state->epoch &&
                    position->position == state->position && position->world_size == state->world_size,
                "parent and ranks read the same");
  const std::string written = checkpoint::to_text(*state);
  fuzz::require(checkpoint::to_text(checkpoint::parse_state(written, "state.json")) == written,
                "it reads back the same");
  return 0;
}
