#include "commands/train/launched.h"

#include "base/paths.h"
#include "commands/train/output.h"
#include "commands/train/resume.h"
#include "launch/run/launched_rank.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// After a restart by the launcher the folder is not printed again.
void print_once(const record::RunDirectory& directory, const launch::Launch& launch) {
  if (launch.attempt == 0) print_folder(directory.path());
}

}  // namespace

std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch) {
  if (!run_id.empty()) {
    record::RunDirectory own(fs::path(results) / name / run_id);
    return own.begun() ? std::optional(own) : std::nullopt;
  }
  if (launch.attempt == 0 || launch.id.empty()) return {};
  return launch::find_launched(fs::path(results) / name, launch.id);
}

int run_launched(const LaunchedRun& asked, config::Loaded loaded, const launch::Launch& launch) {
  const std::string name = loaded.experiment.name;
  if (const auto begun = begun_run(asked.results, asked.run_id, name, launch)) {
    return resume_launched({.directory = *begun, .sets = asked.sets}, launch);
  }
  const Prepared prepared = prepare(std::move(loaded), launch);
  launch::LaunchedRank rank{.plan = prepared.plan,
                            .library = *prepared.library,
                            .launch = launch,
                            .experiment_folder = paths::absolute(asked.file).parent_path(),
                            .start = prepared.start,
                            .lock = {}};
  if (launch.rank == 0) {
    rank.directory = record::RunDirectory::create(asked.results, name, asked.run_id);
    rank.lock = rank.directory->lock();
    rank.begun = [&] { print_folder(rank.directory->path()); };
  }
  return launch::train_launched(rank);
}

int resume_launched(const Resumption& r, const launch::Launch& launch) {
  FileDescriptor lock;
  if (launch.rank == 0) lock = r.directory.lock();
  const ResumePoint point = find_resume_point(r, launch);
  if (point.nothing_to_do()) {
    if (launch.rank != 0) return 0;
    print_once(r.directory, launch);
    tell_nothing_to_do(point, r.directory);
    return 0;
  }
  const std::string changes = launch.rank == 0 ? point.told_changes() : "";
  if (launch.rank == 0) {
    tell_what_goes(r, point);
    record::go_back(r.directory, point.return_point());
  }
  return launch::train_launched({.plan = point.prepared.plan,
                                 .library = *point.prepared.library,
                                 .launch = launch,
                                 .directory = r.directory,
                                 .experiment_folder = paths::working_folder(),
                                 .resumed = true,
                                 .changes = changes,
                                 .start = point.prepared.start,
                                 .lock = std::move(lock),
                                 .begun = [&] { print_once(r.directory, launch); }});
}

}  // namespace ddp::commands
