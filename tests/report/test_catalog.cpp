#include "report/select/row.h"

#include <sys/stat.h>

#include "catch.h"
#include "record/run_directory.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

const std::string kDone = R"({"version":1, "status":"completed", "name":"a", "run_id":"1",
  "started":"2026-11-21T21:04:05Z", "ended":"2026-11-21T21:04:15Z", "epochs":3, "steps":96,
  "final":{"train_loss":0.5, "val_loss":0.25}, "best":{"metric":"val_loss", "value":0.125, "step":64, "train_loss":0.75}, "seconds":9.5,
  "world_size":2, "devices":["cpu","cpu"], "backend":"shm", "versions":{"ddp-exp":"1"},
  "git":{"commit":"abc", "dirty":true}, "restarts":1, "error":null})";

const std::string kSweep = R"({"version":1, "kind":"sweep", "status":"completed", "name":"s", "run_id":"1",
  "started":"2026-11-21T21:04:05Z", "ended":null, "seconds":12.5, "method":"grid", "metric":"val_loss", "goal":"min",
  "parameters":["optimizer.lr"], "trials":3, "completed":1, "stopped":0, "failed":1, "waiting":1, "best":1, "ranking":[
    {"trial":1, "place":1, "directory":"../../elsewhere", "status":"completed", "metric":0.5, "epochs":10,
     "seconds":1.5, "parameters":{"optimizer.lr":0.1}, "error":null},
    {"trial":0, "place":null, "status":"failed", "metric":null, "parameters":{"optimizer.lr":9}, "error":"it burst"}],
  "repeat":"ddp-exp run x"})";

void begin(const ScratchFolder& scratch, const std::string& folder, const std::string& summary) {
  scratch.write(folder + "/config.toml", "");
  if (!summary.empty()) scratch.write(folder + "/summary.json", summary);
}

}  // namespace

TEST_CASE("a run's summary reads back as it was written") {
  const ScratchFolder scratch;
  begin(scratch, "a/1", kDone);
  const Catalog catalog = read_results(scratch.folder());
  CHECK(catalog.problems.empty());
  CHECK(catalog.sweeps.empty());
  REQUIRE(catalog.runs.size() == 1);
  const RunView& run = catalog.runs.front();
  CHECK(run.folder == scratch.folder() / "a/1");
  CHECK(run.name == "a");
  CHECK(run.run_id == "1");
  CHECK(run.status == "completed");
  CHECK(run.started == 1795295045);
  CHECK(run.ended == 1795295055);
  CHECK(run.epochs == 3);
  CHECK(run.steps == 96);
  CHECK(run.final_metrics == decltype(run.final_metrics){{"train_loss", 0.5}, {"val_loss", 0.25}});
  REQUIRE(run.best);
  CHECK(run.best->metric == "val_loss");
  CHECK(run.best->value == 0.125);
  CHECK(run.best->step == 64);
  CHECK(run.figures == Metrics{{"train_loss", 0.75}, {"val_loss", 0.125}});
  CHECK(run.seconds == 9.5);
  CHECK(run.world_size == 2);
  CHECK(run.devices == std::vector<std::string>{"cpu", "cpu"});
  CHECK(run.commit == "abc");
  CHECK(run.dirty);
  CHECK(run.restarts == 1);
  CHECK_FALSE(run.error);
}

TEST_CASE("a sweep's summary reads back as it was written, and its trials lie below it for any location in the file") {
  const ScratchFolder scratch;
  scratch.write("s/1/sweep.toml", "");
  scratch.write("s/1/summary.json", kSweep);
  begin(scratch, "s/1/trials/001", kDone);
  const Catalog catalog = read_results(scratch.folder());
  CHECK(catalog.runs.empty());
  REQUIRE(catalog.sweeps.size() == 1);
  const SweepView& sweep = catalog.sweeps.front();
  CHECK(sweep.method == "grid");
  CHECK(sweep.parameters == std::vector<std::string>{"optimizer.lr"});
  CHECK(sweep.trials == 3);
  CHECK(sweep.failed == 1);
  REQUIRE(sweep.best());
  CHECK(sweep.best()->folder == scratch.folder() / "s/1/trials/001");
  CHECK(sweep.best()->parameters.at("optimizer.lr") == 0.1);
  CHECK(sweep.ranking.at(1).error == "it burst");
  CHECK_FALSE(sweep.ranking.at(1).place);
  CHECK(read_trials(sweep.folder).runs.size() == 1);
}

TEST_CASE("a run is shown as running while a process holds its lock and no longer") {
  const ScratchFolder scratch;
  begin(scratch, "a/1", R"({"status":"running"})");
  begin(scratch, "a/2", "");  // killed before its first summary
  const fs::path run = scratch.folder() / "a/1";
  FileDescriptor lock = record::RunDirectory(run).lock();
  CHECK(read_run(run).status == "running");
  lock.close();
  CHECK(read_run(run).status == "interrupted");
  CHECK(read_run(scratch.folder() / "a/2").status == "interrupted");
  CHECK(read_run(scratch.folder() / "a/2").started > 0);
}

TEST_CASE("a run that trains has its newest loss and the time left, and one that was killed does not") {
  const ScratchFolder scratch;
  begin(scratch, "a/1", R"({"status":"running", "total_steps":40})");
  scratch.write("a/1/metrics.jsonl", R"({"event":"step","epoch":0,"step":9,"loss":0.5,"seconds":2}
{"event":"step","epoch":0,"step":10,"loss":0.25,"seconds":2.5}
{"event":"step","epoch":1,"st)");
  const fs::path folder = scratch.folder() / "a/1";
  FileDescriptor lock = record::RunDirectory(folder).lock();
  RunView run = read_run(folder);
  CHECK(run.steps == 10);
  CHECK(run.total_steps == 40);
  CHECK(run.loss == 0.25);
  CHECK(run.seconds_left == 7.5);
  lock.close();
  run = read_run(folder);
  CHECK(run.steps == 10);
  CHECK_FALSE(run.loss);
  CHECK_FALSE(run.seconds_left);
}

TEST_CASE("trials that were killed with their sweep are not shown as running") {
  const ScratchFolder scratch;
  scratch.write("s/1/sweep.toml", "");
  scratch.write("s/1/summary.json", R"({"status":"running", "trials":2, "waiting":1,
    "ranking":[{"trial":0, "status":"running"}, {"trial":1, "status":"waiting"}]})");
  const fs::path folder = scratch.folder() / "s/1";
  FileDescriptor lock = record::RunDirectory(folder).lock();
  CHECK(read_sweep(folder).ranking.front().status == "running");
  lock.close();
  CHECK(read_sweep(folder).status == "interrupted");
  CHECK(read_sweep(folder).ranking.front().status == "interrupted");
  CHECK(read_sweep(folder).ranking.back().status == "waiting");
}

TEST_CASE("damaged or strange folders are skipped with one line each and the rest is read") {
  const ScratchFolder scratch;
  begin(scratch, "a/good", kDone);
  begin(scratch, "a/empty", " ");
  begin(scratch, "a/cut", kDone.substr(0, 100));
  begin(scratch, "a/list", "[1, 2]");
  begin(scratch, "a/status", R"({"status":"\u001b[31mred"})");
  begin(scratch, "a/deep", std::string(100000, '['));
  begin(scratch, "a/huge", "");
  scratch.write("a/huge/summary.json", "");
  fs::resize_file(scratch.folder() / "a/huge/summary.json", std::uintmax_t{1} << 34);
  begin(scratch, "a/pipe", "");
  REQUIRE(mkfifo((scratch.folder() / "a/pipe/summary.json").c_str(), 0600) == 0);
  begin(scratch, "a/itself", "");
  fs::create_symlink("summary.json", scratch.folder() / "a/itself/summary.json");
  // No runs at all, which is not a problem.
  scratch.write("a/none/file", "");
  scratch.write("a/file", "");
  fs::create_symlink("gone", scratch.folder() / "a/latest");
  const Catalog catalog = read_results(scratch.folder());
  CHECK(catalog.runs.size() == 1);
  CHECK(catalog.problems.size() == 8);
  for (const std::string& line : catalog.problems) {
    INFO(line);
    CHECK(contains(line, "summary.json"));
    CHECK(line.find('\x1b') == std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
  CHECK(read_results(scratch.folder() / "gone").runs.empty());
}

TEST_CASE("members of the wrong type are treated as missing") {
  const ScratchFolder scratch;
  begin(scratch, "a/1", R"({"status":"failed", "name":[1], "started":"yesterday", "ended":5, "epochs":-1, "steps":1e99,
    "final":{"train_loss":"low", "val_loss":null}, "best":{"value":"x"}, "seconds":"long", "devices":"cpu",
    "versions":[], "git":7, "restarts":0.5, "error":{"rank":"first", "what":"two\nlines\u0007"}})");
  const RunView run = read_run(scratch.folder() / "a/1");
  CHECK(run.name.empty());
  CHECK(run.started > 0);
  CHECK_FALSE(run.ended);
  CHECK(run.epochs == 0);
  CHECK(run.steps == 0);
  CHECK(run.final_metrics.empty());
  CHECK_FALSE(run.best);
  CHECK(run.seconds == 0);
  CHECK(run.devices.empty());
  REQUIRE(run.error);
  CHECK(run.error->rank == -1);
  CHECK(run.error->what == "two\nlines?");
}

}  // namespace ddp::report
