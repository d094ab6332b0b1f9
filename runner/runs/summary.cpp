#include "runs/summary.h"

#include <poll.h>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/own_command.h"
#include "config/metric.h"
#include "config/text/json_text.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin.h"
#include "launch/watch/live_line.h"
#include "record/file/atomic_file.h"
#include "record/liveness.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/event_reader.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "report/text/words.h"
#include "runs/environment.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// A finished run waits no longer than this for a slow git.
constexpr int kLongestWaitMilliseconds = 1000;

constexpr std::size_t kLastLines = 8;

// Returns the lines of a log, without its last lines if they repeat `told`.
std::deque<std::string> lines_before(std::deque<std::string> lines, const std::string& told) {
  std::istringstream in(told);
  std::vector<std::string> of_told;
  for (std::string line; std::getline(in, line);) of_told.push_back(line);
  if (of_told.empty() || lines.size() < of_told.size()) return lines;
  const bool ends_so = std::equal(of_told.rbegin(), of_told.rend(), lines.rbegin(),
                                  [](const auto& part, const auto& line) { return line.ends_with(part); });
  if (ends_so) lines.resize(lines.size() - of_told.size());
  return lines;
}

// The number of ranks is the launch's: without its flags a run of several nodes would continue on one.
// `with`: what else it needs, such as ", with another setting".
std::string how_to_continue(const record::RunDirectory& directory, const launch::Launch& launch,
                            const std::string& with = "") {
  const std::string command = own_command("resume " + path_word(directory.path()));
  const std::string begin = "to continue" + with;
  if (launch.one_rank) return begin + ", with the same launcher: " + command;
  if (launch.nodes == 1) return begin + ": " + command;
  return begin + ", on all " + std::to_string(launch.nodes) +
         " nodes with the launch flags of this command: " + command;
}

// Returns the line that follows a failure; empty without a checkpoint to continue from.
std::string last_saved(const record::RunDirectory& directory, const launch::Launch& launch,
                       const record::Failure& failure) {
  fs::path last;
  try {
    last = record::latest_checkpoint(directory.checkpoints());
  } catch (const Error&) {
    // A folder that cannot be read may be why the run failed. Its failure is told, and not this one.
  }
  if (last.empty()) return "";
  // A run whose loss is not finite would fail again without the settings that its error names.
  const bool not_finite = failure.what.find(record::kLossNotFinite) != std::string::npos;
  return "\n  last saved after step " + std::to_string(record::step_of(last)) + "; " +
         how_to_continue(directory, launch, not_finite ? ", with one of these settings" : "");
}

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

std::deque<std::string> last_lines(const fs::path& file, std::size_t most) {
  std::ifstream in(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > most) lines.pop_front();
  }
  return lines;
}

record::Summary summary_of(const launch::Plan& plan, const std::vector<std::string>& devices_elsewhere) {
  const auto& e = plan.experiment;
  record::Summary s;
  s.name = e.name;
  s.started = record::timestamp(std::time(nullptr));
  s.world_size = plan.world_size();
  s.devices = plan.device_names();
  s.devices.insert(s.devices.end(), devices_elsewhere.begin(), devices_elsewhere.end());
  s.backend = plan.strategy.one_process ? "none" : e.distributed.backend;
  s.host = record::host_name();
  s.versions = {{"ddp-exp", launch::kVersion}, {"libtorch", launch::kLibTorchVersion}, {"compiler", __VERSION__}};
  s.config_hash = plan.config_hash();
  return s;
}

void remember_epochs(record::RunProgress& run, const record::RunDirectory& directory, const config::Experiment& e) {
  const record::EpochHistory history = record::epoch_history(directory.metrics(), e.best_metric());
  for (const auto& [name, value] : history.metrics) run.metrics.set(name, value);
}

void keep_history(record::Summary& s, const record::RunDirectory& directory) {
  const config::Value old = record::last_summary(directory);
  const auto keep = [&old](const char* key, auto& count) {
    const auto kept = old.find(key);
    if (kept != old.end() && kept->is_number_integer()) kept->get_to(count);
  };
  keep("restarts", s.restarts);
  keep("parameters", s.parameters);
  keep("frozen_parameters", s.frozen_parameters);
  s.origin = record::origin_of(directory);
  const auto started = old.find("started");
  if (started == old.end() || !started->is_string()) return;
  if (const auto moment = record::read_timestamp(started->get<std::string>())) s.started = record::timestamp(*moment);
}

record::Summary begin_run(const launch::Plan& plan, const std::vector<record::KeptGraph>& graphs,
                          const record::RunDirectory& directory, const std::vector<std::string>& devices_elsewhere) {
  record::Summary summary;
  directory.begin([&] {
    summary = summary_of(plan, devices_elsewhere);
    summary.launch = plan.launch.id;
    keep_history(summary, directory);
    const std::string text = launch::text_for(plan.experiment, directory);
    record::keep_graphs(directory, graphs);
    summary.environment = environment_of(plan.experiment, directory);
    record::write_summary(directory, summary);
    return text;
  });
  return summary;
}

std::string in_words(record::Failure failure, const record::RunDirectory& directory, const record::Summary& s) {
  if (failure.rank < 0 || failure.rank >= static_cast<int>(s.devices.size())) return failure.what;
  // A rank of another machine has no log name yet; its log is here.
  if (failure.log.empty()) failure.log = directory.log(failure.rank).string();
  const std::string rank = "rank " + std::to_string(failure.rank);
  const auto before = lines_before(last_lines(failure.log, kLastLines), failure.what);
  std::string text = rank + " (" + s.devices[failure.rank] + "): " + failure.what;
  if (!before.empty()) text += task_limit_behind(before.back());
  if (!before.empty()) text += "\n  the last lines of " + rank + ":";
  for (const auto& line : before) text += "\n    | " + line;
  return text + "\n  the log of " + rank + ": " + failure.log;
}

void add_progress(record::Summary& s, const record::RunProgress& run, const record::RunDirectory& directory,
                  const config::Experiment& e) {
  s.epochs = run.epochs_done;
  s.steps = run.step;
  s.total_steps = run.steps_in_all;
  s.skipped_steps = run.skipped_steps;
  s.replay = {.steps = run.replayed_steps,
              .eager_steps = run.eager_steps,
              .calls = run.calls_of_step,
              .own_calls = run.own_calls,
              .unused_parameters = run.unused_parameters,
              .reason = run.never_replays ? run.why_eager : "",
              .reason_of_evaluations = run.never_replays_forwards ? run.why_eager_forwards : ""};
  s.held_out = run.held_out;
  s.shard = run.divides_update ? "optimizer" : "none";
  s.seconds = run.seconds;
  if (run.ended) s.stopped_by = run.stopped_by;
  if (run.parameters > 0) {
    s.parameters = run.parameters;
    s.frozen_parameters = run.frozen_parameters;
  }
  std::map<std::string, config::Value, record::MetricOrder> last;
  for (const auto& [name, value] : run.metrics.values()) last[name] = config::number_or_null(value);
  for (const auto& [name, value] : last) {
    const bool tested = name.starts_with(config::kTestPrefix);
    if (tested && !s.test) s.test = {.step = run.test_step, .epoch = run.test_epoch};
    (tested ? s.test->values : s.final_metrics)[name] = value;
  }
  record::EpochHistory history = record::history_of(directory, e.best_metric());
  s.best = std::move(history.best);
  s.last = std::move(history.last);
}

namespace {

// "completed in 1m 05s, 11911 samples/s | best val_loss 0.0838 after step 412 | test_loss 0.0901 | results/mlp/…"
std::string closing_line(const record::Summary& s, const record::RunProgress& run,
                         const record::RunDirectory& directory) {
  std::string how =
      "completed" + (s.stopped_by.empty() ? "" : " (" + s.stopped_by + ")") + " in " + report::duration(s.seconds);
  const double trained = run.seconds - run.seconds_before - run.paused;
  if (run.samples > 0 && trained > 0) how += ", " + std::to_string(std::llround(run.samples / trained)) + " samples/s";
  std::vector<std::string> parts{how};
  if (s.best && s.best->value) {
    parts.push_back("best " + s.best->metric + " " + report::in_words(*s.best->value) + " after step " +
                    std::to_string(s.best->step));
  }
  if (s.test) {
    for (const auto& [name, value] : s.test->values.items()) {
      if (value.is_number()) parts.push_back(name + " " + report::in_words(value.get<double>()));
    }
  }
  parts.push_back(directory.path().string());
  return report::joined(parts, " | ");
}

}  // namespace

// A scheduler sends USR2 with the meaning of TERM.
int exit_code_of(int stop_signal) { return 128 + (stop_signal == SIGUSR2 ? SIGTERM : stop_signal); }

Ending conclude(const record::RunDirectory& directory, record::Summary& s, const record::RunProgress& run,
                const std::optional<record::Failure>& failure, int stop_signal, const launch::Launch& launch) {
  // A stopped run that could not save has failed: nobody may believe that it can be resumed from there.
  s.status = failure ? "failed" : run.ended ? "completed" : "interrupted";
  s.error = failure;
  s.stuck.clear();
  // A rank of another machine has no log name yet; its log is here.
  if (failure && failure->rank >= 0 && failure->log.empty()) s.error->log = directory.log(failure->rank).string();
  record::write_summary(directory, s);
  if (s.status == "interrupted" && stop_signal != 0) {
    const fs::path last = record::latest_checkpoint(directory.checkpoints());
    std::string saved =
        last.empty() ? "nothing is saved yet" : "saved after step " + std::to_string(record::step_of(last));
    if (!last.empty() && run.step > record::step_of(last)) {
      saved +=
          " (" + last.filename().string() + "), later steps, up to " + std::to_string(run.step) + ", are not saved";
    }
    log::info("stopped; " + saved + "; " + how_to_continue(directory, launch));
    return {.exit_code = exit_code_of(stop_signal)};
  }
  // For a person who watched; elsewhere summary.json tells.
  if (s.status == "completed" && launch::wants_live_line()) log::info(closing_line(s, run, directory));
  if (!failure) return {};
  const std::string text = in_words(*s.error, directory, s) + last_saved(directory, launch, *failure);
  log::error(text);
  return {.exit_code = 1, .why = text + (launch.nodes > 1 && failure->rank >= 0 ? "\n  (files are on node 0)" : "")};
}

}  // namespace ddp::runs
