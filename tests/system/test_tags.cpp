// Tags and notes: of new runs, sweeps and forks, and changed from another terminal.
#include "catch.h"
#include "long_run.h"
#include "sweeps.h"

namespace ddp::system_test {
namespace {

Json tags_of(const RunFolder& run) { return run.summary().at("tags"); }

}  // namespace

TEST_CASE("tags and a note of a new run are in its summary, list finds it by them, and tag changes them") {
  const Workspace w("small.toml", kSmall);
  const RunFolder a = w.done({"run", "small.toml", "--name", "a", "--tag", "x", "--tag", "b", "--note", "why"}).run;
  w.done({"run", "small.toml", "--name", "plain", "--run-id", "r"});
  CHECK_FALSE(contains(w.done({"list", "plain"}).out, "tags"));
  CHECK(tags_of(a) == Json{"b", "x"});
  CHECK(a.summary().at("note") == "why");
  const auto listed = [&](const Words& options) { return w.done(joined({"list"}, options)).out; };
  CHECK(contains(listed({}), " b x "));
  CHECK_FALSE(contains(listed({"--tag", "b", "--tag", "x"}), "plain/"));
  w.done({"list", "--tag", "b", "--tag", "other"}, {"no run in results matches"});
  w.done({"tag", "a", "plain", "+good", "-x", "--note", "since then"});
  CHECK(tags_of(a) == Json{"b", "good"});
  CHECK(Json::parse(listed({"plain", "--json"})).at("runs").at(0).at("tags") == Json{"good"});
  const std::string page = w.done({"show", "a"}).out;
  CHECK(contains(page, "tags        b, good\nnote        since then\n"));
  CHECK(contains(w.done({"tag", "a"}).out, "b good  since then"));
  w.done({"tag", "a", "-h"});  // no help: a tag
  w.done({"tag", "a", "better"});
  CHECK(tags_of(a) == Json{"b", "better", "good"});
  w.done({"tag", "a", "-better"});
  w.refused({"tag", "a", "plain", "+a/b"}, {"\"a/b\" cannot be a tag", "up to 64 ASCII letters, digits"});
  w.refused({"tag", "+good"}, {"no run is named"});
  w.refused({"run", "small.toml", "--tag", "a b"}, {"\"a b\" cannot be a tag"});
  w.done({"fork", "a", "--set", "epochs=5", "--name", "child", "--tag", "forked"});
  CHECK(tags_of(RunFolder(w.results() / "child" / "latest")) == Json{"forked"});
}

TEST_CASE("terminals that tag a run at once lose no tag") {
  const Workspace w("small.toml", kSmall);
  const RunFolder run = w.done({"run", "small.toml"}).run;
  std::vector<std::unique_ptr<Process>> terminals;
  Json all;
  for (int i = 0; i < 8; ++i) {
    all.push_back("t" + std::to_string(i));
    terminals.push_back(w.start({"tag", "small", "+t" + std::to_string(i)}));
  }
  for (const auto& terminal : terminals) CHECK(terminal->wait() == 0);
  CHECK(contains(w.done({"tag", "small"}).out, "t0 t1 t2 t3 t4 t5 t6 t7"));
  w.done({"tag", "small", "+t0"});
  CHECK(tags_of(run) == all);
}

TEST_CASE("a tag of a run that trains survives its end and its resume") {
  LongRun run({"--tag", "begun"});
  run.workspace().done({"tag", "small", "+seen", "--note", "looks good"});
  run.stop();
  CHECK(tags_of(run.folder()) == Json{"begun", "seen"});
  run.resume_and_wait();
  CHECK(tags_of(run.folder()) == Json{"begun", "seen"});
  run.workspace().done({"tag", "small", "-begun"});
  run.stop();
  CHECK(tags_of(run.folder()) == Json{"seen"});
  CHECK(run.folder().summary().at("note") == "looks good");
}

TEST_CASE("a sweep has tags, from its begin on and changed later, and its trials have none") {
  const Workspace w("s.toml", kSmall + "[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  w.done(sweep_arguments({"--tag", "night", "--note", "two rates"}));
  w.done({"tag", "s", "+done"});
  CHECK(tags_of(sweep_of(w)) == Json{"done", "night"});
  CHECK(sweep_of(w).summary().at("note") == "two rates");
  CHECK(tags_of(trial_of(sweep_of(w), 0)).empty());
  CHECK(contains(w.done({"list", "--tag", "done"}).out, "s/one"));
}

}  // namespace ddp::system_test
