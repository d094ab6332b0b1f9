#include "launch/plugin/compile.h"

#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "launch/plugin/commands.h"
#include "launch/plugin/precompiled.h"
#include "record/file/atomic_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

fs::path part(const fs::path& made, std::size_t number, const char* ending) {
  return made / (std::to_string(number) + ending);
}

std::vector<std::string> command_for(const Sdk& sdk, const fs::path& header, const fs::path& source,
                                     const fs::path& made, std::size_t number) {
  std::vector<std::string> command = sdk.command();
  if (isatty(STDERR_FILENO) != 0) command.emplace_back("-fdiagnostics-color=always");
  if (!header.empty()) command.insert(command.end(), {"-include", header.string()});
  command.insert(command.end(), {"-MMD", "-MF", part(made, number, ".d").string(), "-c", source.string(), "-o",
                                 part(made, number, ".o").string()});
  return command;
}

// Prints the compiler's output unchanged, unless the command succeeded under --quiet.
void show(const Ended& ended) {
  if (ended.code == 0 && log::verbosity() == log::Verbosity::quiet) return;
  log::print(ended.output);
}

void link(const Sdk& sdk, std::size_t count, const fs::path& made) {
  std::vector<std::string> command = sdk.compiler;
  command.insert(command.end(), sdk.flags.begin(), sdk.flags.end());
  command.insert(command.end(), {"-shared", "-o", (made / "plugin.so").string()});
  for (std::size_t i = 0; i < count; ++i) command.push_back(part(made, i, ".o").string());
  const Ended linked = run_commands({command}, made).front();
  show(linked);
  if (linked.code != 0) throw usage_error("the files of `sources` cannot be linked; the lines above say why");
}

}  // namespace

std::vector<HeaderPlace> compile(const Sdk& sdk, const fs::path& cache, const SourceTexts& texts,
                                 const fs::path& made) {
  const fs::path header = precompiled_header(sdk, cache);
  const std::vector<fs::path>& sources = texts.sources();
  log::info("compiling " + file_names(sources));
  std::vector<std::vector<std::string>> commands;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    commands.push_back(command_for(sdk, header, sources[i], made, i));
  }
  const std::vector<Ended> ended = run_commands(commands, made);
  std::vector<fs::path> failed;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    show(ended[i]);
    if (ended[i].code != 0) failed.push_back(sources[i]);
  }
  if (!failed.empty()) {
    throw usage_error("does not compile; the lines above say why", file_names(failed), "correct it and try again");
  }
  link(sdk, sources.size(), made);
  std::vector<fs::path> others = sdk.includes;
  if (!header.empty()) others.push_back(header.parent_path());
  std::vector<HeaderPlace> headers;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto found = texts.headers_in(record::read_text(part(made, i, ".d")), i, others);
    headers.insert(headers.end(), found.begin(), found.end());
    std::error_code gone;
    for (const char* ending : {".o", ".d"}) fs::remove(part(made, i, ending), gone);
  }
  return headers;
}

}  // namespace ddp::launch
