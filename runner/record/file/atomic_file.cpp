#include "record/file/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/paths.h"
#include "record/file/input_file.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// `file`: the name that a person knows, not a temporary one.
Error unwritten(const std::string& what, const fs::path& file) {
  const int error = errno;
  return training_error(what + ": " + errno_text(error), file.string(), remedy_for_write(error));
}

// Returns the new file with this text, which has the name `shown` in errors.
FileDescriptor written(const fs::path& file, const std::string& text, const fs::path& shown) {
  FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!out) throw unwritten("cannot create", shown);
  write_all(out.get(), text.data(), text.size(), shown.string());
  return out;
}

// A tool that follows links has made a folder of a link. The folder is the user's: it gets another name, and stays.
bool put_folder_aside(const fs::path& link, const std::string& name) {
  std::error_code error;
  fs::path aside = link.parent_path() / name;
  while (fs::exists(aside, error)) aside += "-copy";
  fs::rename(link, aside, error);
  if (error) return false;
  log::warn(link.string() + " was a folder, as tools make of a link when they copy it; it is now " + aside.string());
  return true;
}

}  // namespace

void write_file(const fs::path& file, const std::string& text) { written(file, text, file); }

void write_atomically(const fs::path& file, const std::string& text) {
  fs::path temporary = file;
  temporary += ".tmp";
  try {
    FileDescriptor out = written(temporary, text, file);
    if (fsync(out.get()) != 0) throw unwritten("cannot write to disk", file);
    out.close();
    if (rename(temporary.c_str(), file.c_str()) != 0) throw unwritten("cannot put in place", file);
  } catch (const Error&) {
    unlink(temporary.c_str());
    throw;
  }
}

FileDescriptor take_turn(const fs::path& folder) {
  FileDescriptor turn(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!turn) throw unwritten("cannot lock", folder);
  while (flock(turn.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return turn;
}

void link_atomically(const fs::path& link, const std::string& target, const std::string& folder_aside) {
  // A fixed temporary name: the next process replaces the file that a killed process left. Runs that start at the same
  // moment link the same name.
  const FileDescriptor turn = take_turn(link.parent_path());
  fs::path temporary = link;
  temporary += ".tmp";
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) == 0) {
    if (rename(temporary.c_str(), link.c_str()) == 0) return;
    if (errno == EISDIR && put_folder_aside(link, folder_aside) && rename(temporary.c_str(), link.c_str()) == 0) return;
  }
  const Error error = unwritten("cannot link", link);
  unlink(temporary.c_str());
  throw error;
}

void sync_folder(const fs::path& folder) {
  FileDescriptor handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle || fsync(handle.get()) != 0) {
    throw unwritten("cannot write to disk", folder);
  }
}

void sync_files(const fs::path& folder) {
  std::vector<std::pair<FileDescriptor, fs::path>> files;
  for (const fs::path& file : paths::entries(folder)) {
    files.emplace_back(FileDescriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC)), file);
    if (!files.back().first) throw unwritten("cannot write to disk", file);
    // Starts to write it. A file system with a journal then commits all files at once, with the first fsync.
    sync_file_range(files.back().first.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  for (const auto& [file, name] : files) {
    if (fsync(file.get()) != 0) throw unwritten("cannot write to disk", name);
  }
  sync_folder(folder);
}

std::string read_text(const fs::path& file, std::uint64_t most) try {
  const InputFile in(file);
  if (in.size() > most) throw training_error("is larger than " + std::to_string(most) + " bytes", file.string());
  std::string text(in.size(), '\0');
  in.read(0, text.data(), text.size());
  return text;
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where());
}

}  // namespace ddp::record
