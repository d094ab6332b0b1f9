#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "record/console.h"

namespace ddp::record {

// A file that whole pieces are appended to. A piece that finds no room leaves no part of itself behind, and its writer
// keeps it: a full disk is told once, and that it is over.
class GrowingFile {
 public:
  // What goes wrong is told on `console`, with the words `what` for the pieces: "lines".
  GrowingFile(FileDescriptor file, std::string name, const Console& console, std::string what);

  // Writes `text` and empties it. Returns why it could not; empty: it could.
  std::string append(std::string& text);

 private:
  FileDescriptor file_;
  const std::string name_;
  const Console console_;
  const std::string what_;
  bool failing_ = false;
};

}  // namespace ddp::record
