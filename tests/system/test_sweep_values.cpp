#include "arrays.h"
#include "catch.h"

// Values of a sweep that fit their key, and not the model or the data: one batch of each trial finds them.
namespace ddp::system_test {
namespace {

std::string refused(const ArrayWorkspace& w, const std::string& sweep) {
  w.write("s.toml", "extends = \"arrays.toml\"\n[sweep]\n" + sweep);
  const Outcome outcome = w.refused({"sweep", "s.toml"}, {});
  return outcome.err;
}

}  // namespace

TEST_CASE("values of a sweep that do not fit the data are reported together, each at its place") {
  const ArrayWorkspace w;
  const std::string answer = refused(w, "[sweep.parameters]\n\"model.out_features\" = [3, 2, 1]\n");
  INFO(answer);
  CHECK(contains(answer, "s.toml:4:28: "));
  CHECK(contains(answer, "s.toml:4:31: "));
  CHECK_FALSE(contains(answer, "s.toml:4:25: "));
}

TEST_CASE("a mistake of a trial at a line that does not vary names the trial and its values") {
  const ArrayWorkspace w;
  w.write("narrow.npy", npy_of("<f4", "(100, 2)", std::vector<float>(200, 1)));
  const std::string answer = refused(w, "[sweep.parameters]\n\"dataset.inputs\" = [\"x.npy\", \"narrow.npy\"]\n");
  INFO(answer);
  CHECK(contains(answer, "/narrow.npy\"}"));
}

TEST_CASE("a setting that replaces one key of a section is blamed for a mistake of the section") {
  const ArrayWorkspace w;
  w.refused({"run", "arrays.toml", "--set", "model.out_features=2"}, {"error: --set 1: "});
}

TEST_CASE("an option of the search method that does not fit the others is reported at its line") {
  const ArrayWorkspace w;
  const std::string answer = refused(w,
                                     "method = \"asha\"\ntrials = 4\nmin_epochs = 50\nmax_epochs = "
                                     "4\n[sweep.parameters]\n\"optimizer.lr\" = [0.1, 0.01]\n");
  CHECK(contains(answer, "s.toml:5:14: \"sweep.min_epochs\": "));
}

}  // namespace ddp::system_test
