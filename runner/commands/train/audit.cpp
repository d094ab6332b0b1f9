#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "record/saves/checkpoint_index.h"
#include "report/read/summary_view.h"
#include "runs/audit.h"

namespace ddp::commands {
namespace {

struct AuditOptions {
  std::string run;
  runs::AuditRequest request{.run = record::RunDirectory("")};
  std::optional<int> pick;  // runs of a cross-validation or race
  std::int64_t seed = 0;
  bool json = false;
};

// The result of a reproduction of several runs.
struct Reproductions {
  std::vector<runs::Audit> runs;

  bool all_same() const {
    return std::all_of(runs.begin(), runs.end(), [](const runs::Audit& one) { return one.same; });
  }
  void fields(config::Fields& f) {
    f.version();
    f({"same", "all bits of all runs are the same"}, all_same());
    f({"runs"}, runs);
  }
};

using Action = runs::Audited(const runs::AuditRequest&);

// Adds the completed runs of a sweep's folder, and of cross-validations in it.
void add_runs(const record::RunDirectory& folder, std::vector<record::RunDirectory>& runs) {
  for (const report::TrialView& trial : report::read_sweep(folder.path()).ranking) {
    const record::RunDirectory one(trial.folder);
    if (trial.status != "completed") continue;
    one.is_sweep() ? add_runs(one, runs) : runs.push_back(one);
  }
}

// Trains runs of a cross-validation, a race or a sweep again, in a folder inside it, and removes those with the same
// bits.
int reproduce_runs(AuditOptions& o) {
  std::vector<record::RunDirectory> runs;
  add_runs(o.request.run, runs);
  const std::size_t picked = o.pick ? static_cast<std::size_t>(*o.pick) : runs.size();
  if (picked > runs.size()) {
    throw usage_error("there are " + std::to_string(runs.size()) + " completed runs", "--pick", "give at most as many");
  }
  std::mt19937_64 draw(static_cast<std::uint64_t>(o.seed));
  for (std::size_t i = 0; i < picked && o.pick; ++i) std::swap(runs[i], runs[i + draw() % (runs.size() - i)]);
  runs.resize(picked, record::RunDirectory(""));
  for (const record::RunDirectory& run : runs) {
    for (const std::filesystem::path& saved : record::complete_checkpoints(run.checkpoints())) {
      const std::string damage = record::damage_of(saved);
      if (!damage.empty()) throw training_error(damage, saved.string());
    }
  }
  const std::filesystem::path scratch = o.request.run.path() / "reproduced";
  o.request.results = scratch.string();
  Reproductions done;
  for (const record::RunDirectory& run : runs) {
    o.request.run = run;
    runs::Audited one = runs::reproduce(o.request);
    if (one.stopped != 0) return one.stopped;
    if (!o.json) std::cout << run.path().string() << ": " << (one.audit.same ? "same bits" : "OTHER BITS") << std::endl;
    std::error_code kept;
    if (one.audit.same) std::filesystem::remove_all(one.audit.again, kept);
    done.runs.push_back(std::move(one.audit));
  }
  const auto same = std::count_if(done.runs.begin(), done.runs.end(), [](const auto& one) { return one.same; });
  if (o.json) {
    std::cout << config::written(done).dump(2) << "\n";
  } else {
    std::cout << same << " of " << done.runs.size() << " runs: same bits" << std::endl;
  }
  std::error_code kept;
  if (done.all_same()) std::filesystem::remove_all(scratch, kept);
  return done.all_same() ? 0 : 1;
}

// Returns the exit code: 0 same bits, 1 other bits, 128 + n stopped by signal n.
template <Action action>
int conclude(AuditOptions& o) {
  o.request.run = record::RunDirectory::find(o.request.results, o.run);
  if (action == runs::reproduce && o.request.run.is_sweep()) return reproduce_runs(o);
  o.request.run.require_run();
  if (o.pick) throw usage_error("this is one run", "--pick", "leave it out");
  if (!o.json) {
    o.request.tell = [](const std::string& line) { std::cout << line << std::endl; };
    o.request.show = print_folder_of;
  }
  const runs::Audited done = action(o.request);
  if (done.stopped != 0) return done.stopped;
  if (o.json) std::cout << config::written(done.audit).dump(2) << "\n";
  return done.audit.same ? 0 : 1;
}

template <Action action>
void add(CLI::App& verb, AuditOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords)->required(), completion::runs);
  if (action == runs::audit) {  // UBSan takes away that this is a constant
    verb.add_option("--stretches", o.request.stretches, "number of parts to train again; default: all")
        ->check(CLI::Range(1, 1'000'000));
  } else {
    add_run_id(verb, o.request.run_id, "id of the new run; an existing one is continued");
    verb.add_option("--pick", o.pick,
                    "of a cross-validation or race: so many of its runs, drawn at random; default: all")
        ->check(CLI::Range(1, 1'000'000));
    verb.add_option("--seed", o.seed, "seed of this draw")->check(CLI::NonNegativeNumber);
  }
  verb.add_option("--device-pool", o.request.device_pool, "other devices: 1, 4, [0, 1] or [\"cpu\", \"cpu\"]");
  add_results(verb, o.request.results);
  verb.add_flag("--json", o.json, "print JSON");
}

const bool audit_registered =
    register_verb(102, "audit", "train parts of a run again, and compare all bits", add<runs::audit>,
                  conclude<runs::audit>, {.examples = {"audit basic", "audit basic --stretches 3 --json"}}) &&
    register_verb(104, "reproduce", "train a whole run again from its folder, and compare all bits",
                  add<runs::reproduce>, conclude<runs::reproduce>,
                  {.examples = {"reproduce basic", "reproduce basic --device-pool 1"}}) &&
    register_schema<runs::Audit>("audit", "audit RUN --json, audit.json") &&
    register_schema<std::variant<runs::Audit, Reproductions>>("reproduce",
                                                              "reproduce RUN --json, audit.json of the new run");

}  // namespace
}  // namespace ddp::commands
