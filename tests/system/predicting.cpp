#include "predicting.h"

#include <algorithm>

#include "catch.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

const Words kPools{R"(device_pool=["cpu"])", R"(device_pool=["cpu", "cpu"])", R"(device_pool=["cpu", "cpu", "cpu"])"};

Words visible_files(const fs::path& folder) {
  Words names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(".out-") && !name.starts_with(".err-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string predicted(const Workspace& workspace, const Words& words) {
  return workspace.done(joined({"predict"}, words)).out;
}

void check_predict_fails(const Workspace& workspace, int code, const Words& words, const Words& said) {
  const auto before = visible_files(workspace.folder());
  workspace.ends(code, joined({"predict"}, words), said);
  CHECK(visible_files(workspace.folder()) == before);
}

RunFolder trained(const Workspace& workspace, const std::string& file) { return workspace.done({"run", file}).run; }

}  // namespace ddp::system_test
