#include "launch/run/git_state.h"

#include <poll.h>

namespace ddp::launch {
namespace {

// A finished run waits no longer than this for a slow git.
constexpr int kLongestWaitMilliseconds = 1000;

}  // namespace

// "# branch.oid <commit>" first, then a line for each change; untracked files do not count.
GitState::GitState(const std::filesystem::path& folder)
    : git_({"git", "--no-optional-locks", "-C", folder.empty() ? "." : folder.string(), "status", "--porcelain=v2",
            "--branch", "--untracked-files=no"}) {}

config::Value GitState::result() {
  pollfd more{.fd = git_.output(), .events = POLLIN, .revents = 0};
  while (poll(&more, 1, kLongestWaitMilliseconds) > 0 && git_.read()) {
  }
  const std::string& text = git_.text();
  const std::string label = "# branch.oid ";
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return nullptr;
  const std::size_t begin = at + label.size();
  const bool dirty = text.rfind("\n1 ") != std::string::npos || text.rfind("\n2 ") != std::string::npos ||
                     text.rfind("\nu ") != std::string::npos;
  return {{"commit", text.substr(begin, text.find('\n', begin) - begin)}, {"dirty", dirty}};
}

}  // namespace ddp::launch
