#include "sweep/sweep_summary.h"

#include "base/error.h"
#include "record/atomic_file.h"
#include "record/timestamp.h"
#include "report/summary_view.h"

namespace ddp::sweep {
namespace {

using config::Value;

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

Value row_of(const Trial& t, const Trials& trials, int place) {
  return {{"trial", t.number},
          {"place", t.metric ? Value(place) : Value(nullptr)},
          {"directory", folder_of(t.number)},
          {"status", word(t.status)},
          {"metric", t.metric ? Value(*t.metric) : Value(nullptr)},
          {"epochs", t.epochs},
          {"seconds", t.seconds},
          {"parameters", trials.parameters(t.number)},
          {"error", t.error.empty() ? Value(nullptr) : Value(t.error)}};
}

}  // namespace

SweepSummary read_summary(const record::RunDirectory& directory) {
  try {
    const report::SweepView before = report::read_sweep(directory.path());
    return {.started = before.started > 0 ? record::timestamp(before.started) : "", .seconds = before.seconds};
  } catch (const Error&) {
    return {};  // nothing depends on what a damaged one says
  }
}

std::string repeat_command(const record::RunDirectory& directory, int trial) {
  return "ddp-exp run " + (directory.path() / folder_of(trial) / "config.toml").string();
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
      {"metric", sweep.metric},
      {"goal", sweep.greater_is_better ? "max" : "min"},
      {"parameters", parameters},
      {"trials", trials.all().size()},
      {"completed", trials.count(Status::completed)},
      {"stopped", trials.count(Status::paused)},
      {"failed", trials.count(Status::failed)},
      {"waiting", trials.count(Status::waiting)},
      {"best", best ? Value(best->number) : Value(nullptr)},
      {"ranking", ranking},
      {"repeat", best ? Value(repeat_command(directory, best->number)) : Value(nullptr)},
  };
  record::write_atomically(directory.summary(), json.dump(2, ' ', false, Value::error_handler_t::replace) + "\n");
}

}  // namespace ddp::sweep
