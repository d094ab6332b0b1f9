#include "commands/launched.h"

#include <iostream>

#include "commands/resume.h"
#include "launch/launched_rank.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

// The run that these ranks go on with: the one they are given, or that which they had begun before the launcher
// started them again. Nothing: they begin one.
std::optional<record::RunDirectory> begun_run(const LaunchedRun& asked, const std::string& name,
                                              const launch::Launch& launch) {
  if (!asked.run_id.empty()) {
    record::RunDirectory own(fs::path(asked.results) / name / asked.run_id);
    return own.begun() ? std::optional(own) : std::nullopt;
  }
  if (launch.attempt == 0 || launch.id.empty()) return {};
  return launch::find_launched(fs::path(asked.results) / name, launch.id);
}

}  // namespace

int run_launched(const LaunchedRun& asked, config::Loaded loaded, const launch::Launch& launch) {
  const std::string name = loaded.experiment.name;
  if (const auto begun = begun_run(asked, name, launch)) {
    return resume_launched({.directory = *begun, .sets = asked.sets}, launch);
  }
  const Prepared prepared = prepare(std::move(loaded), launch);
  launch::LaunchedRank rank{.plan = prepared.plan,
                            .library = *prepared.library,
                            .launch = launch,
                            .experiment_folder = fs::absolute(asked.file).parent_path(),
                            .start = prepared.start,
                            .lock = {}};
  if (launch.rank == 0) {
    rank.directory = record::RunDirectory::create(asked.results, name, asked.run_id);
    rank.lock = rank.directory->lock();
  }
  const int code = launch::train_launched(rank);
  if (rank.directory) std::cout << rank.directory->path().string() << std::endl;
  return code;
}

int resume_launched(const Resumption& r, const launch::Launch& launch) {
  FileDescriptor lock;
  if (launch.rank == 0) lock = r.directory.lock();
  const ResumePoint point = find_resume_point(r, launch);
  if (point.nothing_to_do()) {
    if (launch.rank == 0) tell_nothing_to_do(point, r.directory);
    return 0;
  }
  const std::string changes = launch.rank == 0 ? point.told_changes() : "";
  if (launch.rank == 0) record::go_back(r.directory, point.return_point());
  const int code = launch::train_launched({.plan = point.prepared.plan,
                                           .library = *point.prepared.library,
                                           .launch = launch,
                                           .directory = r.directory,
                                           .experiment_folder = fs::current_path(),
                                           .resumed = true,
                                           .changes = changes,
                                           .start = point.prepared.start,
                                           .lock = std::move(lock)});
  if (launch.rank == 0) std::cout << r.directory.path().string() << std::endl;
  return code;
}

}  // namespace ddp::commands
