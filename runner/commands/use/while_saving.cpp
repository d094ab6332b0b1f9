#include "commands/use/while_saving.h"

#include <string>

#include "base/error.h"
#include "base/log.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

constexpr int kMostAttempts = 10;

// Returns the name of the checkpoint that the error names, if it is no longer in the folder; else "".
std::string removed_checkpoint(const Error& error, const fs::path& checkpoints) {
  const std::string text = error.what();
  const std::size_t slash = text.find("/step-");
  if (slash == std::string::npos) return "";
  const std::size_t digits = slash + std::string("/step-").size();
  std::string name = text.substr(slash + 1, text.find_first_not_of("0123456789", digits) - slash - 1);
  std::error_code unreadable;
  return fs::exists(checkpoints / name, unreadable) ? "" : name;
}

}  // namespace

void while_saving(const record::RunDirectory& run, const std::function<void()>& use) {
  for (int attempt = 1;; ++attempt) {
    try {
      return use();
    } catch (const Error& error) {
      const std::string removed = removed_checkpoint(error, run.checkpoints());
      if (removed.empty()) throw;
      if (attempt == kMostAttempts) {
        throw usage_error("the run replaced " + removed + " meanwhile", run.path().string(),
                          "try again, or once the run has ended");
      }
      log::info("the run replaced " + removed + " meanwhile: taking the checkpoint after it");
    }
  }
}

}  // namespace ddp::commands
