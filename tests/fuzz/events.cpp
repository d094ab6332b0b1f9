// A TensorBoard event file, from which a resumed run takes over the valid events.
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "target.h"
#include "tensorboard/events.h"

namespace ddp::fuzz {
namespace {

namespace fs = std::filesystem;

// Returns the events that a run which resumes after that step, in that epoch, takes over from these bytes.
std::string taken_over(const std::string& bytes, std::int64_t step, std::int64_t epoch) {
  const fs::path folder = scratch_file("events.out.tfevents.1.host.1.0", bytes).parent_path();
  tensorboard::begin_event_file(folder, "", step, epoch);
  std::string text;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("events.out.tfevents.")) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    text.append(std::istreambuf_iterator<char>(in), {});
    fs::remove(entry.path());
  }
  return text;
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // Checksums would keep most mutated bytes from the reader of the records.
  tensorboard::belongs(bytes, 3, 1);
  const std::string once = fuzz::taken_over(bytes, 3, 1);
  fuzz::require(once.size() <= size, "taking over adds nothing");
  fuzz::require(fuzz::taken_over(once, 3, 1) == once, "taking over twice is taking over once");
  fuzz::require(fuzz::taken_over(once, 0, 0).size() <= once.size(), "going back further leaves no more");
  return 0;
}
