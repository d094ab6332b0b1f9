#include "commands/sweep/sweep.h"
#include "sweep/prepare.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "base/student.h"
#include "commands/cluster/slurm.h"
#include "commands/look/report.h"
#include "commands/look/show_plan.h"
#include "commands/options.h"
#include "config/difference.h"
#include "config/load/compose.h"
#include "launch/cluster/launcher.h"
#include "launch/library/plugin.h"
#include "record/race.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/checkpoint_settings.h"
#include "report/text/run_page.h"
#include "report/text/words.h"
#include "runs/notify.h"
#include "runs/summary.h"
#include "sweep/trial_loop.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct SweepOptions {
  std::string file;
  std::vector<std::string> sets;
  std::string name;
  std::string results = "results";
  std::string run_id;
  std::optional<int> jobs;
  std::optional<int> trial;
  record::TagChange tags;
  bool array = false;
  SlurmOptions slurm;
  bool dry_run = false;
};

// Prints the ranking and the name of the report on stderr. A full disk does not fail a finished sweep.
void show_results(const record::RunDirectory& directory) {
  const bool shown = log::verbosity() != log::Verbosity::quiet;
  std::ostringstream text;
  if (shown) report::print_page(read_result(directory.path(), {}), text, report::terminal_of_stderr());
  try {
    const fs::path page = write_sweep_report(directory.path());
    if (shown) text << "\nreport      " << page.string() << "\n";
  } catch (const Error& error) {
    log::warn(error.what());
  }
  log::print(text.str());
}

// Throws if a trial that will resume has other data than its checkpoint.
void require_same_data(const sweep::SweepPlan& plan, const sweep::Trials& trials) {
  for (const sweep::Trial& trial : trials.all()) {
    if (trial.status != sweep::Status::running && trial.status != sweep::Status::interrupted) continue;
    const record::RunDirectory run = plan.folder_of(trial.number);
    const fs::path checkpoint = run.begun() ? record::latest_checkpoint(run.checkpoints()) : fs::path();
    if (checkpoint.empty()) continue;
    plan.require_same_data(checkpoint, launch::load_experiment(record::settings_file(run, checkpoint)).experiment);
  }
}

// Runs notify.command at the end of a sweep, whose lock it releases: the command may change the sweep.
void tell_end(const sweep::SweepPlan& plan, FileDescriptor lock, const std::string& status,
              const std::string& reason = "") {
  lock.close();
  const config::Value settings = plan.loaded->to_value().value("notify", config::Value::object());
  runs::notify(config::read<config::Notify>(settings),
               {.folder = plan.directory.path(), .name = plan.loaded->name, .status = status, .reason = reason});
}

std::string status_of(const record::RunDirectory& sweep) { return record::last_summary(sweep).value("status", ""); }

// `lock`: of the sweep.
// `json`: print the result of a race.
int run_trials(const sweep::SweepPlan& plan, FileDescriptor lock, bool json = false) {
  sweep::Trials trials(plan.loaded->sweep, *plan.search);
  for (const sweep::Event& event : sweep::read_journal(plan.directory.journal())) trials.take(event);
  if (!plan.only) require_same_data(plan, trials);
  const std::string before = status_of(plan.directory);
  if (!json) print_folder(plan.directory.path());
  int code = 0;
  try {
    code = sweep::TrialLoop(plan, trials).run();
  } catch (const Error& error) {
    if (!plan.only) tell_end(plan, std::move(lock), "failed", error.what());
    throw;
  }
  // A single job of an array has nothing to show yet.
  if (!plan.only) show_results(plan.directory);
  if (const auto result = json ? record::read_race(plan.directory.path()) : std::nullopt)
    report::print_json(config::written(*result), std::cout);
  const std::string status = status_of(plan.directory);
  const bool had_ended = before == "completed" || before == "failed";
  // Of an array's jobs only the last one ends the sweep.
  if (!had_ended && (!plan.only || status != "running")) tell_end(plan, std::move(lock), status);
  return code;
}

// Adds what a sweep needs besides its trials.
void place(sweep::SweepPlan& plan, const record::RunDirectory& directory, config::Value git) {
  plan.directory = directory;
  plan.git = std::move(git);
}

constexpr std::chrono::seconds kPatience{60};

// If several processes start at the same moment, the first one begins the sweep.
void begin_once(const sweep::SweepPlan& p, const record::RunDirectory& directory, const record::TagChange& tags) {
  if (directory.is_sweep()) return;
  try {
    paths::make_folders(directory.trials());
  } catch (const Error& error) {
    paths::refuse_dangling_link(directory.trials());
    throw usage_error(error.summary(), error.where());
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!directory.is_sweep()) {
    try {
      const FileDescriptor lock = directory.lock();
      if (!directory.is_sweep()) sweep::begin(p, directory, tags);
    } catch (const Error&) {
      // Another process is beginning the sweep, perhaps on a slow disk; it then trains and keeps the lock.
      if (!directory.is_sweep() && std::chrono::steady_clock::now() > until) throw;
    }
  }
}

void require_independent(const search::Search& search, const std::string& method, const std::string& option) {
  if (search.independent()) return;
  throw usage_error(method + " compares trials while they train: it cannot train them separately", option,
                    "use method = \"random\", or leave it out");
}

// Sources lie in the sweep's folder; a trial of which they changed is reported when it resumes.
config::Value settings_of(const config::LoadedSweep& sweep) {
  config::Value settings = sweep.to_value();
  settings.erase("sources");
  settings.erase("notify");
  return config::without_queries(std::move(settings));
}

// A sweep keeps its first settings: other settings would make its trials incomparable. A repeated command, such as a
// batch system's restarted job, repeats its file and its --set too.
void require_settings_of(const record::RunDirectory& directory, const config::LoadedSweep& asked) {
  const auto was = launch::load_sweep(directory.sweep());
  const config::Value changes = config::differences(settings_of(was), settings_of(asked));
  // The sweep has more keys than its file: the values that it resolved, such as threads.
  const auto changed =
      std::find_if(changes.begin(), changes.end(), [](const auto& change) { return !change[1].is_null(); });
  if (changed == changes.end()) return;
  const std::string before =
      (*changed)[0].is_null() ? "no " + changed.key() : changed.key() + " = " + (*changed)[0].dump();
  throw usage_error("this sweep began with " + before + ", not " + (*changed)[1].dump(), directory.path().string(),
                    "continue it as it is: " + own_command("resume " + path_word(directory.path())) +
                        "\n  begin another sweep: without --run-id, or with a new one");
}

// The command that trains the file alone.
std::string command_of(const SweepOptions& o) {
  std::vector<std::string> sets = o.sets;
  std::erase_if(sets, [](const std::string& set) { return set.starts_with("sweep") || set.starts_with("~sweep"); });
  return with_sets(own_command("run " + path_word(paths::absolute(o.file))), sets);
}

// Trains one trial of a sweep whose trials run in several processes: the jobs of an array.
int sweep_one(const SweepOptions& o, const std::vector<std::string>& sets) {
  if (o.run_id.empty())
    throw usage_error("needs the sweep of the trial", "--trial", "give the id of the sweep too: --run-id ID");
  runs::GitState git(paths::absolute(o.file).parent_path());
  sweep::SweepPlan prepared = sweep::prepare_sweep(launch::load_sweep(o.file, sets), 1, o.results);
  require_independent(*prepared.search, prepared.loaded->sweep.method.name, "--trial");
  if (*o.trial >= prepared.search->trials()) {
    throw usage_error("no trial " + std::to_string(*o.trial), "--trial",
                      "the sweep has trials 0 to " + std::to_string(prepared.search->trials() - 1));
  }
  const record::RunDirectory directory(fs::path(o.results) / prepared.loaded->name / o.run_id);
  begin_once(prepared, directory, o.tags);
  require_settings_of(directory, launch::load_sweep(o.file, sets));
  FileDescriptor lock = directory.lock_shared(kPatience, [&] {
    log::info("waiting up to " + std::to_string(kPatience.count()) +
              " seconds: another process trains all trials of this sweep, or begins it: " + directory.path().string());
  });
  place(prepared, directory, git.result());
  prepared.command = command_of(o);
  prepared.only = o.trial;
  return run_trials(prepared, std::move(lock));
}

// Only writes a script and needs no devices: a login node has no GPUs.
int write_array(SweepOptions& o, const std::vector<std::string>& sets) {
  const config::LoadedSweep loaded = launch::load_sweep(o.file, sets);
  const auto search = sweep::make_search(loaded);
  require_independent(*search, loaded.sweep.method.name, "--array");
  const std::vector<config::Loaded> trials = sweep::check_trials(loaded, *search);
  SlurmOptions& slurm = o.slurm;
  slurm.file = o.file;
  slurm.results = o.results;
  slurm.job.name = o.name;
  slurm.job.sets = o.sets;
  slurm.job.tags = o.tags.added;
  slurm.job.note = o.tags.note.value_or("");
  slurm.job.trials = search->trials();
  slurm.job.at_once = o.jobs;
  if (slurm.job.job_name.empty()) slurm.job.job_name = loaded.name;
  complete(slurm);
  warn_of_devices(trials, slurm.job);
  return write_job(slurm);
}

// Reads a file for one of the two commands, and refuses it for the other.
config::LoadedSweep load(const SweepOptions& o, const std::vector<std::string>& sets, config::LoadedSweep::Kind kind) {
  const Error no_folds = usage_error("the file has neither [folds] nor [repeat]", o.file,
                                     "give folds.k = 5, or repeat.seeds = 5 for other seeds on the same rows");
  std::error_code none;
  if (kind == config::LoadedSweep::Kind::cv && fs::exists(o.file, none) && !config::has_sweep(o.file, sets)) {
    launch::load_experiment(o.file, sets);  // throws its mistakes
    throw no_folds;
  }
  config::LoadedSweep loaded = launch::load_sweep(o.file, sets);
  if (loaded.kind == kind) return loaded;
  if (loaded.is_cv()) {
    throw usage_error("the file has no [sweep] table", o.file,
                      "train its folds or seeds: " + own_command("cv " + path_word(o.file)));
  }
  if (!loaded.trials_are_cvs()) throw no_folds;
  throw usage_error("the file has a [sweep]", o.file,
                    "each of its trials is a cross-validation: " + own_command("sweep " + path_word(o.file)));
}

// Begins the sweep, or resumes the one of --run-id.
int train(const SweepOptions& o, config::LoadedSweep asked, bool json = false) {
  launch::require_one_process("sweep", "use srun -n 1, or --array");
  const fs::path folder = paths::absolute(o.file).parent_path();
  if (!o.run_id.empty()) {
    const record::RunDirectory own(fs::path(o.results) / asked.name / o.run_id);
    if (own.is_sweep()) {
      require_settings_of(own, asked);
      return resume_sweep(own, o.jobs, /*data_changed=*/false, /*max_seeds=*/{}, json);
    }
  }
  runs::GitState git(folder);
  sweep::SweepPlan prepared = sweep::prepare_sweep(std::move(asked), o.jobs, o.results);
  const bool has_trials = prepared.loaded->is_sweep();
  const auto directory =
      record::RunDirectory::create_sweep(o.results, prepared.loaded->name, o.run_id,
                                         has_trials ? record::RunDirectory::kTrials : record::RunDirectory::kRuns);
  FileDescriptor lock = directory.lock();
  if (directory.is_sweep()) throw usage_error("another process has begun this sweep", directory.path().string());
  sweep::begin(prepared, directory, o.tags);
  place(prepared, directory, git.result());
  if (!prepared.loaded->is_race()) prepared.command = command_of(o);
  return run_trials(prepared, std::move(lock), json);
}

// The --set of a command.
std::vector<std::string> sets_of(const SweepOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  std::vector<std::string> sets = o.sets;
  if (!o.name.empty()) sets.push_back(config::assignment_of_option("--name", "name", o.name));
  return sets;
}

int sweep(SweepOptions& o) {
  const std::vector<std::string> sets = sets_of(o);
  config::LoadedSweep loaded = load(o, sets, config::LoadedSweep::Kind::sweep);
  if (o.array) return write_array(o, sets);
  if (o.trial) return sweep_one(o, sets);
  if (o.dry_run) {
    show_sweep(sweep::prepare_sweep(launch::load_sweep(o.file, sets), o.jobs, o.results, /*timed=*/true), o.results,
               /*json=*/false);
    return 0;
  }
  return train(o, std::move(loaded));
}

int cross_validate(SweepOptions& o) { return train(o, load(o, sets_of(o), config::LoadedSweep::Kind::cv)); }

struct RaceOptions : SweepOptions {
  std::string other;
  config::RaceRules rules;
  bool json = false;
};

// Warns of a race that cannot end.
void warn_of_end(const config::RaceRules& rules) {
  if (most_evidence(static_cast<std::size_t>(rules.max_seeds)) >= rules.enough_evidence()) return;
  log::warn("no " + std::to_string(rules.max_seeds) +
            " pairs can prove anything at alpha = " + report::in_words(rules.alpha) + ": give more --max-seeds");
}

int race(RaceOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  warn_of_end(o.rules);
  config::LoadedSweep loaded = launch::load_race(o.file, o.other, o.sets, o.rules);
  loaded.name = !o.name.empty() ? o.name : config::name_of_file(o.file) + "-" + config::name_of_file(o.other);
  record::RunDirectory::require_run_id(loaded.name);
  return train(o, std::move(loaded), o.json);
}

}  // namespace

int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed,
                 std::optional<std::int64_t> max_seeds, bool json) {
  FileDescriptor lock = directory.lock();
  runs::GitState git(paths::working_folder());
  config::LoadedSweep loaded = launch::load_sweep(directory.sweep(), {});
  if (max_seeds) {
    if (!loaded.is_race()) throw usage_error("this is no race", "--max-seeds", "leave it out");
    const std::int64_t before = loaded.rules.max_seeds;
    if (*max_seeds < before) {
      throw usage_error("the race began with --max-seeds " + std::to_string(before), "--max-seeds",
                        "give at least as many");
    }
    loaded = launch::load_sweep(directory.sweep(), {"race.max_seeds=" + std::to_string(*max_seeds)});
  }
  if (max_seeds) directory.begin_sweep([&] { return launch::text_for(loaded, directory); });
  sweep::SweepPlan prepared =
      sweep::prepare_sweep(std::move(loaded), jobs, directory.path().parent_path().parent_path());
  place(prepared, directory, git.result());
  prepared.data_changed = data_changed;
  return run_trials(prepared, std::move(lock), json);
}

namespace {

// The options of both commands.
void add_common(CLI::App& verb, SweepOptions& o, const std::string& file, const std::string& of_what) {
  completes(verb.add_option("FILE", o.file, file)->required(), completion::files({".toml"}));
  add_sets(verb, o.sets, completion::Argument::sweep_file);
  add_name(verb, o.name);
  add_results(verb, o.results);
  add_run_id(verb, o.run_id, "id of the " + of_what + "; an existing one is resumed");
  add_tags(verb, o.tags);
  add_jobs(verb, o.jobs);
}

void add_cv(CLI::App& verb, SweepOptions& o) {
  add_common(verb, o, "experiment file with [folds] or [repeat]", "cross-validation");
  add_output(verb);
}

void add_sweep(CLI::App& verb, SweepOptions& o) {
  add_common(verb, o, "experiment file with a [sweep] table", "sweep");
  verb.add_option("--trial", o.trial,
                  "train only this trial; other processes train the other trials of the same --run-id")
      ->check(CLI::Range(0, 1'000'000));
  CLI::Option* array =
      verb.add_flag("--array", o.array,
                    "write the script of a Slurm job array, one job per trial; --jobs limits how many run at a time");
  o.slurm.job.exclusive = false;
  for (CLI::Option* option : add_slurm_requests(verb, o.slurm)) option->needs(array);
  add_output(verb);
  verb.add_flag("--dry-run", o.dry_run, "show the plan, train nothing");
}

const bool sweep_registered =
    register_verb(40, "sweep", "train all trials of a file's [sweep] and rank them", add_sweep, sweep,
                  {.examples = {"sweep experiments/digits_sweep.toml", "sweep experiments/digits_sweep.toml --jobs 2"},
                   .aliases = {"tune", "search", "hpo"}});

void add_race(CLI::App& verb, RaceOptions& o) {
  add_common(verb, o, "experiment file A", "race");
  completes(verb.add_option("OTHER", o.other, "experiment file B")->required(), completion::files({".toml"}));
  verb.add_option("--metric", o.rules.metric, "metric that decides; default: checkpoint.metric of A");
  verb.add_option("--alpha", o.rules.alpha, "most probability that equal experiments get a winner")
      ->check(CLI::Range(1e-12, 0.5));
  verb.add_option("--max-seeds", o.rules.max_seeds, "most pairs")->check(CLI::Range(2, 100'000));
  verb.add_option("--min-seeds", o.rules.min_seeds, "least pairs before it ends")->check(CLI::Range(2, 100'000));
  verb.add_flag("--json", o.json, "print race.json");
  add_output(verb);
}

const bool race_registered =
    register_verb(42, "race", "train two files, seed by seed, until one is proved better", add_race, race,
                  {.examples = {"race small.toml wide.toml", "race small.toml wide.toml --alpha 0.01 --jobs 2"},
                   .aliases = {"duel", "ab"}}) &&
    register_schema("race", record::race_schema);

const bool cv_registered =
    register_verb(41, "cv", "train all folds or seeds of a file: the mean and spread of each metric", add_cv,
                  cross_validate,
                  {.examples = {"cv people.toml", "cv people.toml --set folds.k=10 --jobs 2"},
                   .aliases = {"crossval", "cross-validate", "kfold"}}) &&
    register_schema<record::CrossValidation>("cv", "cv.json of a cross-validation, and eval CV --json");

}  // namespace

}  // namespace ddp::commands
