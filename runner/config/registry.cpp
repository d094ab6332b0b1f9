#include "config/registry.h"

#include <unistd.h>
#include <filesystem>

#include "base/log.h"

namespace ddp::config {
namespace {

// "models/mlp.cpp:12". The path of the checkout is left out: it means nothing on another machine.
std::string file_and_line(const SourceLine& where) {
  const std::filesystem::path file = where.file;
  return (file.parent_path().filename() / file.filename()).string() + ":" + std::to_string(where.line);
}

}  // namespace

void refuse_second_registration(const std::string& kind, const std::string& name, const SourceLine& first,
                                const SourceLine& second) {
  log::error("two files register the " + kind + " \"" + name + "\": " + file_and_line(first) + " and " +
             file_and_line(second) + "\n  give one of them another name");
  _exit(2);
}

}  // namespace ddp::config
