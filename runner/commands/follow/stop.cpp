#include <csignal>
#include <ctime>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/follow/following.h"
#include "commands/options.h"
#include "record/liveness.h"
#include "record/summary.h"

namespace ddp::commands {

namespace {

struct StopOptions {
  std::string run;
  std::string results = "results";
  bool now = false;
};

void refuse_unreachable(const record::RunDirectory& run) {
  const record::RunDirectory own(paths::absolute(run.path()));
  if (own.is_trial()) {
    throw usage_error("this is a trial of a sweep, which would start it again", run.path().string(),
                      "stop the sweep: " + own_command("stop " + path_word(own.path().parent_path().parent_path())));
  }
  if (!record::last_summary(run).value("launch", config::Value()).is_null()) {
    throw usage_error("a launcher such as torchrun or srun started its ranks", run.path().string(),
                      "stop the launcher: the run saves when it gets SIGTERM or ^C");
  }
}

void stop(const StopOptions& o) {
  const auto run = record::RunDirectory::find(o.results, o.run);
  Followed followed(run, o.results);
  if (!followed.alive()) return followed.tell_end();
  refuse_unreachable(run);
  record::request_stop(run, o.now ? record::StopRequest::at_once : record::StopRequest::save);
  log::info(o.now ? "asked it to end at once" : "asked it to save and end; waiting for that");
  followed.wait_for_end([] { return true; });
  record::forget_stop_request(run);
  followed.tell_end();
}

void add_stop(CLI::App& app, int&) {
  CLI::App* verb = app.add_subcommand("stop", "let a run or a sweep save and end, and wait for that");
  auto options = std::make_shared<StopOptions>();
  verb->add_option("RUN", options->run, kRunInWords)->required();
  add_results(*verb, options->results);
  verb->add_flag("--now", options->now, "end it at once, without saving");
  verb->callback([options] { stop(*options); });
}

const bool stop_registered = register_verb(43, add_stop);

}  // namespace

}  // namespace ddp::commands
