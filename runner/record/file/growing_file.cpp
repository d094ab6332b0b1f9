#include "record/file/growing_file.h"

#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace ddp::record {

GrowingFile::GrowingFile(FileDescriptor file, std::string name, const Console& console, std::string what)
    : file_(std::move(file)), name_(std::move(name)), console_(console), what_(std::move(what)) {}

std::string GrowingFile::append(std::string& text) {
  const off_t before = lseek(file_.get(), 0, SEEK_END);
  try {
    write_all(file_.get(), text.data(), text.size(), name_);
  } catch (const Error& error) {
    // The whole piece is written again later, behind its first part.
    if (before >= 0 && ftruncate(file_.get(), before) != 0) log::error("cannot cut off a part of " + name_);
    if (!std::exchange(failing_, true)) {
      console_.line(std::string("warning: ") + error.what() + "; its " + what_ + " are kept and written later");
    }
    return error.what();
  }
  text.clear();
  if (std::exchange(failing_, false)) console_.line(name_ + ": can be written again, and is complete");
  return "";
}

}  // namespace ddp::record
