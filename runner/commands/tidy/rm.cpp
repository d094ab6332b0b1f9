#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/tidy/removal.h"
#include "record/run_directory.h"

namespace ddp::commands {
namespace fs = std::filesystem;

namespace {

struct RmOptions : RemovalOptions {
  std::vector<std::string> runs;
};

Doomed doomed_run(const fs::path& folder, const std::string& results) {
  const record::RunDirectory own(paths::absolute(folder));
  if (own.is_trial())
    throw usage_error("this is a trial; its sweep needs it", folder.string(), "remove the whole sweep");
  const report::Row row = read_result(folder, results);
  if (row.view().status == "running") {
    throw usage_error("is running", folder.string(), "stop it first: " + own_command("stop " + path_word(folder)));
  }
  return {.folder = folder, .what = row.view().status, .bytes = paths::size_on_disk(folder)};
}

void rm(const RmOptions& o) {
  std::vector<fs::path> going;
  for (const std::string& name : o.runs) {
    const fs::path folder = record::RunDirectory::find(o.results, name).path();
    if (std::find(going.begin(), going.end(), folder) == going.end()) going.push_back(folder);
  }
  std::vector<Doomed> doomed;
  for (const fs::path& folder : going) doomed.push_back(doomed_run(folder, o.results));
  const References references(o.results);
  for (const fs::path& folder : going) {
    if (const std::string user = references.user_of(folder, going); !user.empty()) {
      throw usage_error("another run begins with one of its checkpoints: " + user, folder.string(),
                        "remove that one too");
    }
  }
  remove(doomed, "result", o);
}

void add_rm(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("rm", "remove runs and sweeps, after a question");
  auto options = std::make_shared<RmOptions>();
  verb->add_option("RUN", options->runs, kRunInWords)->required();
  add_removal_options(*verb, *options);
  verb->callback([options] { rm(*options); });
}

const bool rm_registered = register_verb(106, add_rm);

}  // namespace

}  // namespace ddp::commands
