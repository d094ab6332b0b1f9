#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "datasets/dataset.h"
#include "dist/parallel/parallel.h"
#include "dist/waiting.h"
#include "models/model.h"
#include "rank/comm.h"
#include "rank/measure.h"
#include "rank/run.h"
#include "rank/task.h"
#include "schedule/scheduler.h"
#include "train/loss/loss.h"
#include "train/metrics/metric.h"
#include "train/optim/optimizer.h"

namespace {

using ddp::record::RankProgress;

// Tells the parent, through the page, why this rank ends.
int fail(const ddp::rank::Task& task, const std::string& what) {
  RankProgress& progress = task.progress->rank(task.rank);
  std::strncpy(progress.error, what.c_str(), sizeof progress.error - 1);
  progress.peer_lost = ddp::dist::says_peer_lost(what);
  progress.peer_late = !progress.peer_lost && ddp::dist::says_peer_late(what);
  progress.failed = true;
  // The parent hears of the rank that went first and ends this one: it must not be mistaken for the culprit.
  const timespec moment{.tv_sec = 2, .tv_nsec = 0};
  if (progress.peer_lost) nanosleep(&moment, nullptr);
  return 1;
}

// Runs `body` as this rank. Returns the process's exit code.
template <class Body>
int as_rank(const ddp::rank::Task& task, bool log_failure, const Body& body) {
  std::string what;
  try {
    ddp::log::become_rank(task.rank, /*own_log=*/task.watched);
    // As in Python: who writes to a rank that is gone gets an error that says so.
    std::signal(SIGPIPE, SIG_IGN);
    body();
    return 0;
  } catch (const c10::Error& error) {
    what = error.what_without_backtrace();
  } catch (const ddp::Error& error) {
    what = error.what();
    // What is refused today is refused tomorrow.
    if (error.fault() == ddp::Fault::usage) task.progress->rank(task.rank).hopeless = true;
  } catch (const std::filesystem::filesystem_error& error) {
    what = ddp::as_error(error).what();
  } catch (const std::bad_alloc& error) {
    what = ddp::as_error(error).what();
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (log_failure) ddp::log::error(what);
  return fail(task, what);
}

template <class Registry>
void list(const Registry& registry, ddp::config::Components& components) {
  for (auto& spec : registry.specs()) components.add(registry.kind(), spec);
}

}  // namespace

extern "C" int ddp_rank_train(const ddp::rank::Task* task) {
  return as_rank(*task, /*log_failure=*/true, [task] { ddp::rank::run(*task); });
}

extern "C" int ddp_rank_comm(const ddp::rank::Task* task, const ddp::rank::CommOptions* options) {
  // What it says goes to no log but to the person, whom its parent, where it has one, tells who failed first.
  return as_rank(*task, /*log_failure=*/!task->watched, [=] { ddp::rank::measure(*task, *options); });
}

extern "C" void ddp_rank_components(ddp::config::Components* components) {
  list(ddp::models::registry(), *components);
  list(ddp::datasets::registry(), *components);
  list(ddp::dist::parallels(), *components);
  list(ddp::train::losses(), *components);
  list(ddp::train::metrics(), *components);
  list(ddp::train::optimizers(), *components);
  list(ddp::schedule::schedulers(), *components);
}
