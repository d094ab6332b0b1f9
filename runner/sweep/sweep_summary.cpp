#include "sweep/sweep_summary.h"

#include "base/error.h"
#include "base/own_command.h"
#include "base/safe_name.h"
#include "base/shell_word.h"
#include "record/file/atomic_file.h"
#include "record/timestamp.h"
#include "report/read/summary_view.h"

namespace ddp::sweep {
namespace fs = std::filesystem;
namespace {

using config::Value;

const std::string kOfBest = "-best";
constexpr const char* kDefaultResults = "results";

const char* word(Status status) {
  switch (status) {
    case Status::waiting:
      return "waiting";
    case Status::running:
      return "running";
    case Status::paused:
      return "stopped";
    case Status::completed:
      return "completed";
    case Status::failed:
      return "failed";
    case Status::interrupted:
      return "interrupted";
  }
  return "";
}

std::string folder_of(int trial) { return record::RunDirectory::trial_folder(trial).string(); }

// The results folder: the parent of the folder with the sweep's name.
fs::path results_root(const fs::path& sweep) {
  if (fs::path root = sweep.parent_path().parent_path(); !root.empty()) return root;
  std::error_code gone;
  return fs::absolute(sweep, gone).parent_path().parent_path();
}

// The command that repeats a trial alone, bit for bit.
std::string repeat_command(const record::RunDirectory& directory, const std::string& name, int trial) {
  const fs::path& sweep = directory.path();
  // With the sweep's own name, `latest` of that name would point to the run.
  const std::string own_name = name.substr(0, kLongestSafeName - kOfBest.size()) + kOfBest;
  const fs::path results = results_root(sweep);
  return own_command("run " + path_word(sweep / folder_of(trial) / "config.toml") + " --name " + shell_word(own_name) +
                     (results == kDefaultResults ? "" : " --results " + path_word(results)));
}

Value row_of(const Trial& t, const Trials& trials, int place) {
  const std::optional<int> rung = trials.rung(t);
  return {{"trial", t.number},
          {"place", t.metric ? Value(place) : Value(nullptr)},
          {"directory", folder_of(t.number)},
          {"status", word(t.status)},
          {"rung", rung ? Value(*rung) : Value(nullptr)},
          {"metric", t.metric ? Value(*t.metric) : Value(nullptr)},
          {"epochs", t.epochs},
          {"seconds", t.seconds},
          {"parameters", trials.decided_parameters(t.number)},
          {"error", t.error.empty() ? Value(nullptr) : Value(t.error)}};
}

}  // namespace

SweepSummary read_summary(const record::RunDirectory& directory) {
  try {
    const report::SweepView before = report::read_sweep(directory.path());
    return {.started = before.started > 0 ? record::timestamp(before.started) : "", .seconds = before.seconds};
  } catch (const Error&) {
    return {};  // nothing depends on a damaged summary
  }
}

void write_summary(const record::RunDirectory& directory, const SweepSummary& s, const config::Sweep& sweep,
                   const Trials& trials) {
  Value parameters = Value::array();
  for (const auto& parameter : sweep.parameters) parameters.push_back(parameter.key);
  Value ranking = Value::array();
  int place = 0;
  for (const Trial* trial : trials.ranking()) ranking.push_back(row_of(*trial, trials, ++place));
  const Trial* best = trials.best();
  const Value json = {
      {"version", 1},
      {"kind", "sweep"},
      {"status", s.status},
      {"name", s.name},
      {"run_id", directory.path().filename().string()},
      {"started", s.started},
      {"ended", s.ended.empty() ? Value(nullptr) : Value(s.ended)},
      {"seconds", s.seconds},
      {"method", sweep.method.name},
      {"metric", sweep.metric.name},
      {"goal", sweep.goal()},
      {"parameters", parameters},
      {"trials", trials.all().size()},
      {"completed", trials.count(Status::completed)},
      {"stopped", trials.count(Status::paused)},
      {"failed", trials.count(Status::failed)},
      {"waiting", trials.count(Status::waiting)},
      {"best", best ? Value(best->number) : Value(nullptr)},
      {"ranking", ranking},
      {"repeat", best ? Value(repeat_command(directory, s.name, best->number)) : Value(nullptr)},
  };
  record::write_atomically(directory.summary(), json.dump(2, ' ', false, Value::error_handler_t::replace) + "\n");
}

}  // namespace ddp::sweep
