#include "runs/fork.h"

#include <optional>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "record/file/atomic_file.h"
#include "record/metrics/event_lines.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/retention.h"
#include "record/summary.h"
#include "report/select/row.h"
#include "runs/changes.h"
#include "runs/resume.h"
#include "runs/summary.h"
#include "runs/train.h"
#include "runs/trained.h"

namespace ddp::runs {
namespace fs = std::filesystem;
namespace {

// Returns the origin's name under the results folder, or its absolute path: a later command finds it from any folder.
std::string name_of_origin(const fs::path& origin, const fs::path& results) {
  const std::string name = report::name_of(origin, results);
  std::error_code unreadable;
  return fs::exists(results / name, unreadable) ? name : paths::absolute(origin).string();
}

// Throws unless the existing run is a fork of this origin: the command then resumes it, as `run --run-id` does.
void require_fork_of(const record::RunDirectory& begun, const std::string& origin) {
  const auto own = record::origin_of(begun);
  if (own && own->run == origin) return;
  throw usage_error("this run exists, but is not a fork of " + origin, begun.path().string(), "give another --run-id");
}

Prepared prepare_fork(const ForkRequest& r, const launch::Launch& launch) {
  const std::string where = r.origin.path().string();
  if (record::complete_checkpoints(r.origin.checkpoints()).empty()) {
    if (const auto lost = all_saves_lost(r.origin)) throw *lost;
    throw usage_error("this run has no checkpoint yet: nothing to fork", where,
                      "start a new run with its settings: " + own_command("run " + path_word(r.origin.config())));
  }
  Prepared p = prepare_to_go_on(
      {.directory = r.origin, .results = r.results, .sets = r.sets, .from = r.from, .data_changed = r.data_changed},
      launch, /*forks=*/true);
  const Standing& s = p.standing;
  if (!s.finished) return p;
  const std::string rule = s.ended_by_rule();
  throw usage_error((rule.empty() ? "all steps are done" : "stop." + rule + " has ended the run") +
                        " at this checkpoint, of step " + std::to_string(s.position.step),
                    where,
                    "continue the fork with " + (rule.empty() ? s.longer_run() : s.weaker_rule()) +
                        "; or use an earlier checkpoint with --from");
}

// Removes the folder of the new run unless the run has begun.
struct Folder {
  std::optional<record::RunDirectory> made = {};
  ~Folder() {
    if (made && !made->begun()) made->discard();
  }
};

// Writes the first files of the new run, before it begins: a copy of the origin's checkpoint, the first line of
// metrics.jsonl, and summary.json. If the command is killed later, the run can be resumed from there. The run then
// stands at the copy. Throws ddp::Error (usage).
void write_first_files(Standing& s, const record::Origin& origin, const launch::Plan& plan) try {
  s.checkpoint = record::copy_checkpoint(s.checkpoint, s.directory.checkpoints());
  const record::ResumeRecord begin{.epoch = s.position.epoch,
                                   .step = s.position.step,
                                   .checkpoint = s.checkpoint,
                                   .world_size = plan.world_size(),
                                   .changes = s.changes_as_text(),
                                   .origin = origin};
  record::write_atomically(s.directory.metrics(), record::to_line(begin, s.position.seconds));
  record::Summary summary = summary_of(plan, {});
  summary.origin = origin;
  summary.launch = plan.launch.id;
  record::write_summary(s.directory, summary);
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

int begin_fork(const ForkRequest& r, const std::string& origin_name, const launch::Launch& launch,
               launch::Nodes* nodes) {
  if (const auto begun = begun_run(r.results, r.run_id, r.name, launch)) {
    if (launch.leads()) require_fork_of(*begun, origin_name);
    return resume(
        {.directory = *begun, .results = r.results, .sets = r.sets, .data_changed = r.data_changed, .show = r.show},
        launch, nodes);
  }
  Prepared p = prepare_fork(r, launch);
  Folder folder;
  const auto open = [&](Standing& s) {
    create(s, r.results, r.name, r.run_id, r.tags);
    folder.made = s.directory;
    const record::Origin origin{
        .run = origin_name, .checkpoint = s.checkpoint.filename().string(), .step = s.position.step};
    write_first_files(s, origin, p.plan);
    record::accept_data(s.checkpoint, p.data.files());
    s.before.name = r.name;
    record::write_settings(s.checkpoint, s.before);
    s.tell_changes(p.plan);
    s.changes = nullptr;  // metrics.jsonl has them
    log::info("a fork of " + origin_name + " after step " + std::to_string(s.position.step) + ", from " +
              origin.checkpoint);
  };
  return train({.standing = p.standing,
                .plan = p.plan,
                .library = *p.library,
                .data = p.data,
                .open = open,
                .experiment_folder = paths::working_folder(),
                .begun = r.show},
               nodes);
}

}  // namespace

int fork(const ForkRequest& r, const launch::Launch& launch, launch::Nodes* nodes) {
  const std::string origin_name = r.origin_url.empty() ? name_of_origin(r.origin.path(), r.results) : r.origin_url;
  // Several nodes agree on one checkpoint: then a replaced one is an error.
  if (launch.nodes > 1 || launch.one_rank) return begin_fork(r, origin_name, launch, nodes);
  int exit_code = 0;
  while_saving(r.origin, [&] { exit_code = begin_fork(r, origin_name, launch, nodes); });
  return exit_code;
}

}  // namespace ddp::runs
