#include <fstream>

#include "catch.h"
#include "long_run.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

// Kills one rank, and waits until the restarted ranks have saved. Returns the seconds until then.
double kill_and_wait(const LongRun& run, int rank, std::size_t restarts) {
  REQUIRE(run.process().wait_for_ranks(2));
  const auto killed = Clock::now();
  kill(run.process().ranks().at(rank), SIGKILL);
  const auto saved_again = [&] {
    const auto events = run.folder().events("restart");
    return events.size() == restarts && fs::exists(run.folder().checkpoint(events.back().at("step").get<int>() + 5));
  };
  REQUIRE(wait_until(saved_again, run.process().pid()));
  return std::chrono::duration<double>(Clock::now() - killed).count();
}

// Stops the process while `act` runs.
template <class Body>
void while_it_stands_still(Process& process, const Body& body) {
  REQUIRE(process.wait_for_ranks(2));
  std::vector<pid_t> all = process.ranks();
  all.push_back(process.pid());
  REQUIRE(stand_still(all));
  body();
  for (const pid_t pid : all) kill(pid, SIGCONT);
}

}  // namespace

TEST_CASE(
    "after a rank is killed all ranks start again from the newest checkpoint and the run ends with the same bits") {
  LongRun run({"--max-restarts", "2"});
  for (const std::size_t time : {1, 2}) {
    const double seconds = kill_and_wait(run, 1, time);
    WARN("a rank killed: five new steps were done and saved " << seconds << " s later");
    CHECK(seconds < 10);
  }
  INFO(run.process().err());
  CHECK(contains(run.process().err(), "rank 1 (cpu): killed by SIGKILL after step "));
  const Json event = run.folder().events("restart").back();
  const std::string checkpoint = event.at("checkpoint");
  CHECK(run.folder().path() / checkpoint == run.folder().checkpoint(event.at("step")));
  CHECK(contains(run.process().err(), "restart 2 of 2: all ranks start again after step " +
                                          std::to_string(event.at("step").get<int>()) + ", from " + checkpoint));
  CHECK(event.at("restart") == 2);
  CHECK(event.at("rank") == 1);
  CHECK(contains(event.at("cause"), "killed by SIGKILL after step "));
  CHECK(event.at("seconds") > 0.0);
  // The run still belongs to this command alone.
  const Outcome refused = run.workspace().run({"resume", "small"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "another process is writing this run"));
  run.stop();
  CHECK(run.folder().summary().at("restarts") == 2);
  run.check_resumes_to_the_same_bits();
  // Counted over resumes too.
  CHECK(run.folder().summary().at("restarts") == 2);
}

TEST_CASE("an elastic run goes on without killed ranks while one is left, with the same bits") {
  LongRun run({"--elastic", "--set", "logical_ranks=4", "--set", "batch_size=4", "--set",
               R"(device_pool=["cpu","cpu","cpu","cpu"])"});
  const auto kill_one = [&](int of) {
    REQUIRE(run.process().wait_for_ranks(of));
    kill(run.process().ranks().back(), SIGKILL);
  };
  std::size_t kills = 0;
  int ranks = 4;
  for (const int left : {2, 2, 1}) {
    kill_one(ranks);
    ranks = left;
    const auto killed = Clock::now();
    ++kills;
    const auto goes_on = [&] {
      const auto worlds = run.folder().events("world");
      return worlds.size() == kills && fs::exists(run.folder().checkpoint(worlds.back().at("step").get<int>() + 5));
    };
    REQUIRE(wait_until(goes_on, run.process().pid()));
    WARN("five new steps were done and saved " << seconds_since(killed) << " s after the kill");
    const Json event = run.folder().events("world").back();
    CHECK(event.at("ranks") == left);
    CHECK(contains(event.at("reason"), "killed by SIGKILL"));
  }
  run.stop();
  CHECK(run.folder().summary().at("world_size") == 1);
  run.check_resumes_to_the_same_bits();

  const LongRun short_run({"--elastic", "--set", "logical_ranks=2", "--set", "device_pool=1"});
  REQUIRE(short_run.process().wait_for_ranks(1));
  kill(short_run.process().ranks().at(0), SIGKILL);
  short_run.ends(1, {"killed by SIGKILL", "no other rank is left"});
  short_run.workspace().refused({"run", "small.toml", "--elastic"}, {"--elastic: needs logical_ranks"});
}

TEST_CASE("a failure after the last restart is final and reports the number of restarts") {
  const LongRun run({"--max_restarts", "1"});
  kill_and_wait(run, 0, 1);
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(0), SIGKILL);
  run.ends(1, {"after 1 restart, as many as --max-restarts allows"});
  const Json summary = run.folder().summary();
  CHECK(summary.at("status") == "failed");
  CHECK(summary.at("restarts") == 1);
  CHECK(summary.at("error").at("rank") == 0);
}

TEST_CASE("ranks that have saved nothing yet start over") {
  const Workspace w("small.toml", kSmall);
  const auto process = w.start({"run", "small.toml", "--set", "epochs=300", "--max-restarts", "1"});
  REQUIRE(process->wait_for_ranks(2));
  kill(process->ranks().at(1), SIGKILL);
  const Outcome ended = w.ends(0, *process);
  const RunFolder& run = ended.run;
  REQUIRE(run.events("restart").size() == 1);
  CHECK(run.events("restart").front().at("step") == 0);
  CHECK(run.events("restart").front().at("checkpoint") == "");
  CHECK(run.has_each_step_once(300 * 7));
  const Outcome whole = w.done({"run", "small.toml", "--set", "epochs=300"});
  check_same(run, whole.run);
}

TEST_CASE("a stopped rank is named and all ranks start again without it", "[slow]") {
  const LongRun run({"--max-restarts", "1", "--set", "distributed.timeout=6"});
  REQUIRE(run.process().wait_for_ranks(2));
  const pid_t stopped = run.process().ranks().at(1);
  kill(stopped, SIGSTOP);
  REQUIRE(wait_until([&] { return run.folder().events("restart").size() == 1; }, run.process().pid()));
  CHECK(contains(run.folder().events("restart").front().at("cause"), "its process is stopped (SIGSTOP?)"));
  CHECK(run.folder().events("restart").front().at("rank") == 1);
  const auto step = run.folder().events("restart").front().at("step").get<int>();
  REQUIRE(wait_until([&] { return run.folder().last_step() > step; }, run.process().pid()));
  run.stop();
}

TEST_CASE("a stop during a restart is obeyed") {
  LongRun run({"--max-restarts", "1"});
  REQUIRE(run.process().wait_for_ranks(2));
  kill(run.process().ranks().at(1), SIGKILL);
  REQUIRE(wait_until([&] { return contains(run.process().err(), "restart 1 of 1"); }, run.process().pid()));
  run.stop();
  CHECK(run.folder().summary().at("status") == "interrupted");
  run.check_resumes_to_the_same_bits();
}

TEST_CASE("a run that was asked to stop is not started again") {
  const LongRun run({"--max-restarts", "1"});
  while_it_stands_still(run.process(), [&] {
    run.process().signal(SIGTERM);
    kill(run.process().ranks().at(1), SIGKILL);
  });
  run.ends(1, {"killed by SIGKILL after step "});
  CHECK(run.folder().events("restart").empty());
}

TEST_CASE("a restart that the ranks refuse is not repeated") {
  const Workspace w("small.toml", kSmall);
  const Outcome first = w.done({"run", "small.toml", "--name", "first", "--set", "epochs=1"});
  const fs::path weights = w.folder() / "weights.safetensors";
  fs::copy_file(first.run.path() / "checkpoints/latest/model.safetensors", weights);
  // It has no checkpoint to return to: a restart loads the weights of the file again.
  const auto process = w.start({"run", "small.toml", "--max-restarts", "5", "--set", "epochs=1000000", "--set",
                                "checkpoint.save_every=0", "--set", "checkpoint.save_every_minutes=0", "--set",
                                "init_from=\"weights.safetensors\""});
  const RunFolder run = w.running(*process, "small", 2);
  REQUIRE(process->wait_for_ranks(2));
  fs::remove(weights);
  kill(process->ranks().at(1), SIGKILL);
  w.ends(1, *process, {"restart 1 of 5", "weights.safetensors"});
  CHECK(run.summary().at("restarts") == 1);
}

TEST_CASE("without a complete checkpoint ranks are not started again and the failure says both") {
  const LongRun run({"--max-restarts", "1"});
  while_it_stands_still(run.process(), [&] {
    for (const auto& folder : fs::directory_iterator(run.folder().path() / "checkpoints")) {
      if (!folder.is_symlink() && folder.path().filename().string().starts_with("step-")) {
        std::ofstream(folder.path() / "model.safetensors") << "damaged";
      }
    }
    // All of them: rank 0 may be about to save another one.
    for (const pid_t rank : run.process().ranks()) kill(rank, SIGKILL);
  });
  run.ends(1, {" (cpu): killed by SIGKILL after step ",
               "the ranks cannot be started again: ", "this run has no undamaged checkpoint"});
  CHECK(run.folder().events("restart").empty());
}

}  // namespace ddp::system_test
