#include "workspace.h"

#include <fstream>
#include <stdexcept>

#include <stdlib.h>

namespace ddp::system_test {
namespace fs = std::filesystem;

Workspace::Workspace() {
  std::string name = (fs::temp_directory_path() / (std::string(kWorkspacePrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
  folder_ = fs::canonical(name);
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Workspace::write(const std::string& name, const std::string& text) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return name;
}

std::unique_ptr<Process> Workspace::start(std::vector<std::string> arguments,
                                          std::map<std::string, std::string> environment, bool terminal) const {
  return std::make_unique<Process>(Launch{.arguments = std::move(arguments),
                                          .folder = folder_,
                                          .environment = std::move(environment),
                                          .terminal = terminal});
}

Outcome Workspace::run(std::vector<std::string> arguments, std::map<std::string, std::string> environment) const {
  const auto process = start(std::move(arguments), std::move(environment));
  return finish(*process);
}

Outcome Workspace::finish(Process& process) const {
  const int code = process.wait();
  std::string out = process.out();
  // The last line names the folder.
  const std::string lines = out.substr(0, out.find_last_not_of('\n') + 1);
  RunFolder run(folder_ / lines.substr(lines.rfind('\n') + 1));
  return {.code = code, .out = out, .err = process.err(), .run = run, .left = !process.members().empty()};
}

RunFolder Workspace::running(Process& process, const std::string& name, std::int64_t steps) const {
  const fs::path latest = results() / name / "latest";
  const auto far_enough = [&] {
    return fs::exists(latest / "metrics.jsonl") && RunFolder(latest).last_step() >= steps;
  };
  if (!wait_until(far_enough, process.pid())) throw std::runtime_error("the run did not get there: " + process.err());
  return RunFolder(latest.parent_path() / fs::read_symlink(latest));
}

}  // namespace ddp::system_test
