#include "predicting.h"

#include <algorithm>

#include "catch.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

const std::vector<std::string> kPools{R"(device_pool=["cpu"])", R"(device_pool=["cpu", "cpu"])",
                                      R"(device_pool=["cpu", "cpu", "cpu"])"};

std::vector<std::string> visible_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(".out-") && !name.starts_with(".err-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string predicted(const Workspace& workspace, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "predict");
  const Outcome outcome = workspace.run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_FALSE(outcome.left);
  return outcome.out;
}

void check_predict_fails(const Workspace& workspace, int code, std::vector<std::string> arguments,
                         const std::vector<std::string>& words) {
  const auto before = visible_files(workspace.folder());
  arguments.insert(arguments.begin(), "predict");
  const Outcome outcome = workspace.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.code == code);
  for (const auto& word : words) CHECK(contains(outcome.err, word));
  CHECK_FALSE(contains(outcome.err, "frame #"));
  CHECK_FALSE(outcome.left);
  CHECK(visible_files(workspace.folder()) == before);
}

RunFolder trained(const Workspace& workspace, const std::string& file) {
  const Outcome outcome = workspace.run({"run", file});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return outcome.run;
}

}  // namespace ddp::system_test
