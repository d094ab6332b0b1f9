#include "launch/plugin/precompiled.h"

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/library/version.h"
#include "launch/plugin/cache_folder.h"
#include "launch/plugin/commands.h"
#include "record/file/atomic_file.h"
#include "record/file/hash.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHeader = "ddp.h";
constexpr const char* kHeadersPrefix = "headers-";
constexpr std::size_t kMostHeaders = 2;  // half a gigabyte each

std::string text_of_header(const Sdk& sdk) {
  std::string text;
  for (const std::string& header : sdk.precompile) text += "#include " + header + "\n";
  return text;
}

std::string key_of(const Sdk& sdk) {
  std::string all = build_id() + '\n' + sdk.identity + '\n' + text_of_header(sdk);
  for (const std::string& word : sdk.command()) all += word + '\n';
  return record::hash_hex(all);
}

// Returns whether the header exists, and marks it as used.
bool was_made(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kHeader, none)) return false;
  note_use(folder);
  return true;
}

}  // namespace

fs::path precompiled_header(const Sdk& sdk, const fs::path& cache) {
  if (!sdk.precompiled.empty()) return sdk.precompiled;
  // Clang stores the path of a precompiled header, so it would not work after the folder is renamed.
  if (sdk.precompile.empty() || sdk.identity.find("clang") != std::string::npos) return {};
  const fs::path folder = cache / (kHeadersPrefix + key_of(sdk));
  if (was_made(folder)) return folder / kHeader;
  const FileDescriptor lock = lock_entry(folder);
  if (was_made(folder)) return folder / kHeader;
  log::info("compiling the headers of ddp-exp, once for this build");
  const UnfinishedFolder made(folder);
  record::write_atomically(made.path() / kHeader, text_of_header(sdk));
  std::vector<std::string> command = sdk.command();
  command.insert(command.end(), {"-x", "c++-header", "-o", (made.path() / kHeader).string() + ".gch",
                                 (made.path() / kHeader).string()});
  const Ended ended = run_commands({command}, made.path()).front();
  if (ended.code != 0) {
    throw usage_error("the headers of ddp-exp cannot be compiled:\n" + ended.output, sdk.compiler.front(),
                      "use the compiler that built ddp-exp, or a newer one of its kind");
  }
  paths::rename(made.path(), folder);
  remove_oldest(cache, kHeadersPrefix, "", kMostHeaders);
  return folder / kHeader;
}

}  // namespace ddp::launch
