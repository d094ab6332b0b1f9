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

// In the order in which TensorBoard reads them: that of their names.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& file : paths::entries(folder)) {
    if (file.filename().string().starts_with(kPrefix)) found.push_back(file);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The time in a file's name; 0: none.
std::int64_t time_of(const fs::path& file) {
  const std::string name = file.filename().string();
  std::int64_t time = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), time);
  return time;
}

// As TensorBoard's own writers name it; behind the others of the folder, also of the same second.
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
  // TensorBoard does not see it under this name.
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
  // Emptied, not removed: a TensorBoard that was reading one goes on to the next only while it is there. One that keeps
  // its events is read before this one, which begins with telling readers to forget.
  std::error_code ignored;
  for (const fs::path& other : others) fs::resize_file(other, 0, ignored);
  return file;
}

}  // namespace ddp::tensorboard
