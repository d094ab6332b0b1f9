#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/follow/following.h"
#include "commands/options.h"
#include "record/file/input_file.h"

namespace ddp::commands {
namespace fs = std::filesystem;

namespace {

struct LogsOptions {
  std::string run;
  std::string results = "results";
  std::optional<int> rank;
  bool follow = false;
};

// The logs of a run, each printed from where the last print ended.
class Logs {
 public:
  Logs(const record::RunDirectory& run, std::optional<int> rank) : run_(run), rank_(rank) {}

  // Throws ddp::Error (usage) if there is no log, or none of this rank.
  void require_any() const;
  // Prints what is new. Returns false if stdout takes no more.
  bool print_new();

 private:
  std::vector<fs::path> files() const;
  void print_new(const fs::path& file);

  const record::RunDirectory run_;
  const std::optional<int> rank_;
  std::map<fs::path, std::uint64_t> printed_;  // bytes
};

std::vector<fs::path> Logs::files() const {
  if (rank_) return {run_.log(*rank_)};
  std::vector<fs::path> all;
  for (const fs::path& file : paths::entries(run_.log(0).parent_path())) {
    if (file.extension() == ".log") all.push_back(file);
  }
  // rank-2 before rank-10.
  std::sort(all.begin(), all.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.native().size(), a) < std::pair(b.native().size(), b);
  });
  return all;
}

void Logs::require_any() const {
  const fs::path folder = run_.log(0).parent_path();
  if (std::error_code none; !fs::is_directory(folder, none)) throw usage_error("has no logs yet", run_.path().string());
  if (std::error_code none; rank_ && !fs::exists(run_.log(*rank_), none)) {
    throw usage_error("the run has no log of rank " + std::to_string(*rank_), folder.string());
  }
}

bool Logs::print_new() {
  for (const fs::path& file : files()) print_new(file);
  return std::cout.flush().good();
}

void Logs::print_new(const fs::path& file) {
  const record::InputFile in(file);
  std::uint64_t& from = printed_[file];
  std::string block;
  while (from < in.size() && std::cout) {
    block.resize(std::min<std::uint64_t>(std::size_t{1} << 20, in.size() - from));
    in.read(from, block.data(), block.size());
    std::cout << block;
    from += block.size();
  }
}

void print_logs(const LogsOptions& o) {
  const auto run = record::RunDirectory::find(o.results, o.run);
  run.require_run();
  Logs logs(run, o.rank);
  logs.require_any();
  logs.print_new();
  if (!o.follow) return;
  Followed followed(run, o.results);
  if (followed.wait_for_end([&] { return logs.print_new(); })) logs.print_new();
  followed.tell_end();
}

void add_logs(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("logs", "print the logs of a run's ranks");
  auto options = std::make_shared<LogsOptions>();
  verb->add_option("RUN", options->run, kRunInWords)->required();
  add_results(*verb, options->results);
  verb->add_option("--rank", options->rank, "print only the log of this rank")->check(CLI::Range(0, 1'000'000));
  verb->add_flag("-f,--follow", options->follow, "print what the ranks add, until the run ends");
  verb->callback([options] { print_logs(*options); });
}

const bool logs_registered = register_verb(42, add_logs);

}  // namespace

}  // namespace ddp::commands
