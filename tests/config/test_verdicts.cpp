// Folds, seeds, races and decisions, checked with the program's components.
#include "catch.h"
#include "config/load/sweep.h"
#include "errors.h"
#include "installed.h"
#include "scratch.h"

namespace ddp::config {
namespace {

const std::string kNumbers = "model = \"linear\"\ndataset = \"random_pairs\"\n";
const std::string kText =
    "model = \"gpt\"\ndataset = { name = \"text\", path = \"a.txt\", block_size = 8 }\nloss = \"cross_entropy\"\n";

// The error of a file, which `cv` trains.
std::string told_of(const std::string& more, const std::string& before = kNumbers) {
  const Scratch scratch;
  scratch.write("x.toml", before + more);
  scratch.write("a.txt", "abc");
  return error_of([] {
    const LoadedSweep loaded = load_sweep("x.toml", {}, real_components());
    if (loaded.parts.empty()) throw usage_error("there are no runs");
    loaded.trial(loaded.point_of(loaded.parts.front()));
  });
}

// The error of a race of two files.
std::string told_of_race(const std::string& a, const std::string& b) {
  const Scratch scratch;
  scratch.write("a.toml", kNumbers + a);
  scratch.write("b.toml", kNumbers + b);
  return error_of([] { load_race("a.toml", "b.toml", {}, {}, real_components()); });
}

}  // namespace

TEST_CASE("folds and seeds that contradict each other, or that do not exist, are refused at their place") {
  const auto refuses = [](const std::string& more, const std::string& expected, const std::string& before = kNumbers) {
    INFO(more);
    CHECK(contains(told_of(more, before), expected));
  };
  CHECK(told_of("[folds]\nk = 3\nrepeats = 2\n[repeat]\nseeds = [4, 9]\n").empty());
  refuses("[folds]\nk = 1\n", "\"folds.k\" must be");
  refuses("validation.split = 0.2\n[folds]\nk = 3\n", "and so does validation.split");
  refuses("validation.last = 0.2\n[folds]\nk = 3\n", "and so does validation.last");
  refuses("[folds]\nk = 3\norder = \"day\"\nrepeats = 2\n", "folds.repeats beside folds.order");
  refuses("[folds]\nk = 3\nby = \"id\"\nstratify = true\n", "folds.stratify beside folds.by");
  refuses("[folds]\nk = 3\ngap = 2\n", "folds.gap without folds.order");
  refuses("[repeat]\nseeds = 0\n", "are no seeds");
  refuses("[repeat]\nseeds = []\n", "are no seeds");
  refuses("[repeat]\nseeds = [1, 2, 1]\n", "are no seeds");
  refuses("[folds]\nk = 3\n", "has no rows to choose", kText);
  refuses("validation.last = 0.2\n[repeat]\nseeds = 2\n", "has no rows to choose", kText);
}

TEST_CASE("a race has the same folds on both sides, no sweep and no seeds of its own, and both sides get the threads") {
  const std::string held_out = "validation.split = 0.2\n";
  CHECK(told_of_race(held_out, held_out + "epochs = 2\n").empty());
  CHECK(contains(told_of_race("[folds]\nk = 3\n", "[folds]\nk = 4\n"), "not the same [folds]"));
  CHECK(contains(told_of_race(held_out, held_out + "[repeat]\nseeds = 2\n"), "[repeat] in a race"));
  const Scratch scratch;
  scratch.write("a.toml", kNumbers + held_out);
  LoadedSweep race = load_race("a.toml", "a.toml", {}, {}, real_components());
  race.set_threads(3);
  for (const Part& part : {race.parts.at(0), race.parts.at(1)}) {
    CHECK(race.trial(race.point_of(part)).experiment.threads == 3);
  }
}

TEST_CASE("a decision needs a validation, and a threshold that is a share or a known rule") {
  const auto told = [](const std::string& more) {
    const Scratch scratch;
    scratch.write("x.toml", kNumbers + more);
    return error_of([] { load("x.toml", {}, real_components()); });
  };
  CHECK(told("validation.split = 0.2\ndecide.threshold = \"f1\"\n").empty());
  CHECK(contains(told("decide.calibrate = \"isotonic\"\n"), "[decide] is fitted to a validation, and there is none"));
  CHECK(contains(told("validation.split = 0.2\ndecide.threshold = 1.5\n"), "\"decide.threshold\" must be"));
  CHECK(contains(told("validation.split = 0.2\ndecide.threshold = \"recall\"\n"), "\"decide.threshold\" must be"));
}

}  // namespace ddp::config
