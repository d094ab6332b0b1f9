#include "tensorboard/event_folder.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/paths.h"
#include "tensorboard/events.h"
#include "tensorboard/tfrecord.h"

namespace ddp::tensorboard {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kCopiedAtOnce = 1 << 20;

// Returns the event files sorted by name: TensorBoard reads them in this order.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& file : paths::entries(folder)) {
    if (file.filename().string().starts_with(kPrefix)) found.push_back(file);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the time in a file's name, or 0.
std::int64_t time_of(const fs::path& file) {
  const std::string name = file.filename().string();
  std::int64_t time = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), time);
  return time;
}

// Returns a name in the form of TensorBoard's writers. It sorts behind the folder's other files, even within a second.
std::string next_name(const std::vector<fs::path>& others) {
  std::int64_t time = std::time(nullptr);
  for (const fs::path& other : others) time = std::max(time, time_of(other) + 1);
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof host - 1);
  return std::string(kPrefix) + std::to_string(time) + "." + host + "." + std::to_string(getpid()) + ".0";
}

}  // namespace

FileDescriptor begin_event_file(const fs::path& folder, std::string text, std::int64_t step, std::int64_t epoch) {
  paths::make_folders(folder);
  // TensorBoard does not find this name.
  const fs::path unfinished = folder / ".next";
  FileDescriptor file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) throw training_error("cannot be written: " + errno_text(errno), unfinished.string());
  const std::vector<fs::path> others = event_files(folder);
  for (const fs::path& other : others) {
    RecordReader reader(other);
    while (const auto record = reader.next()) {
      if (belongs(*record, step, epoch)) append_record(text, *record);
      if (text.size() < kCopiedAtOnce) continue;
      write_all(file.get(), text.data(), text.size(), unfinished.string());
      text.clear();
    }
  }
  write_all(file.get(), text.data(), text.size(), unfinished.string());
  paths::rename(unfinished, folder / next_name(others));
  // The old files are emptied and not removed: a TensorBoard that reads one moves to the next only while it exists. If
  // an old file keeps its events, TensorBoard reads it before this one, whose beginning tells readers to forget them.
  std::error_code ignored;
  for (const fs::path& other : others) fs::resize_file(other, 0, ignored);
  return file;
}

}  // namespace ddp::tensorboard
