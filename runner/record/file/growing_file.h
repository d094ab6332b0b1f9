#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "record/console.h"

namespace ddp::record {

// A file to which whole pieces are appended. If a piece does not fit on the disk, no part of it stays in the file, and
// the caller keeps the piece. A full disk is reported once, and once more when there is room again.
class GrowingFile {
 public:
  // Reports errors on `console`; `what` names the pieces in them: "lines".
  GrowingFile(FileDescriptor file, std::string name, const Console& console, std::string what);

  // Writes `text` and empties it. Returns the reason if the write fails, else "".
  std::string append(std::string& text);

 private:
  FileDescriptor file_;
  const std::string name_;
  const Console console_;
  const std::string what_;
  bool failing_ = false;
};

}  // namespace ddp::record
