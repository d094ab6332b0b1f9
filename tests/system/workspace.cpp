#include "workspace.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <stdlib.h>

#include "catch.h"
#include "words.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words with_sets(Words words, const Words& sets) {
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return words;
}

Workspace::Workspace() {
  std::string name = (fs::temp_directory_path() / (std::string(kWorkspacePrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
  folder_ = fs::canonical(name);
}

Workspace::Workspace(const std::string& name, const std::string& text) : Workspace() { write(name, text); }

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Workspace::write(const std::string& name, const std::string& text) const {
  fs::create_directories((folder_ / name).parent_path());
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return name;
}

std::unique_ptr<Process> Workspace::start(Words words, Environment environment, bool terminal) const {
  environment.insert(environment_.begin(), environment_.end());
  return std::make_unique<Process>(Launch{
      .arguments = std::move(words), .folder = folder_, .environment = std::move(environment), .terminal = terminal});
}

Outcome Workspace::run(Words words, Environment environment) const {
  const auto process = start(std::move(words), std::move(environment));
  return finish(*process);
}

Outcome Workspace::ends(int code, Words words, const Words& said, Environment environment) const {
  INFO(Json(words).dump(-1, ' ', false, Json::error_handler_t::replace));
  const auto process = start(std::move(words), std::move(environment));
  return ends(code, *process, said);
}

Outcome Workspace::ends(int code, Process& process, const Words& said) const {
  Outcome outcome = finish(process);
  INFO(outcome.err);
  CHECK(outcome.code == code);
  for (const std::string& text : said) CHECK(contains(outcome.err, text));
  CHECK_FALSE(contains(outcome.err, "frame #"));
  CHECK_FALSE(outcome.left);
  return outcome;
}

Outcome Workspace::done(Words words, const Words& said, Environment environment) const {
  Outcome outcome = ends(0, std::move(words), said, std::move(environment));
  REQUIRE(outcome.code == 0);
  return outcome;
}

Outcome Workspace::refused(Words words, const Words& said, Environment environment) const {
  Outcome outcome = ends(2, std::move(words), said, std::move(environment));
  CHECK(outcome.out.empty());
  return outcome;
}

Outcome Workspace::stop(Process& process) const {
  process.signal(SIGTERM);
  return ends(143, process);
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

void check_same(const RunFolder& run, const RunFolder& other) {
  CHECK(run.training() == other.training());
  CHECK(run.model() == other.model());
}

}  // namespace ddp::system_test
