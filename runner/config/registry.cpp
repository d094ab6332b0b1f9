#include "config/registry.h"

#include <unistd.h>
#include <filesystem>

#include "base/log.h"

namespace ddp::config {
namespace {

// "models/mlp.cpp:12": the folder of the checkout that the program was built in tells nobody anything.
std::string file_and_line(const std::source_location& where) {
  const std::filesystem::path file = where.file_name();
  return (file.parent_path().filename() / file.filename()).string() + ":" + std::to_string(where.line());
}

}  // namespace

void refuse_second_registration(const std::string& kind, const std::string& name, const std::source_location& first,
                                const std::source_location& second) {
  log::error("two files register the " + kind + " \"" + name + "\": " + file_and_line(first) + " and " +
             file_and_line(second) + "\n  give one of them another name");
  _exit(2);
}

}  // namespace ddp::config
