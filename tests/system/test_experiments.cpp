#include <cstdlib>

#include "catch.h"
#include "workspace.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const fs::path kExperiments = DDP_SOURCE "/experiments";

fs::path digits_data() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string root = cache != nullptr && *cache != '\0' ? cache : std::string(home ? home : "") + "/.cache";
  return root + "/ddp-exp/data/digits.csv.gz";
}

}  // namespace

TEST_CASE("cross-entropy over one class trains as written and warns that its loss is always 0") {
  const Workspace w;
  w.write("one_class.toml",
          "model = \"linear\"\ndataset = \"random_pairs\"\nloss = \"cross_entropy\"\ndevice_pool = [\"cpu\", "
          "\"cpu\"]\n");
  const Outcome run = w.run({"run", "one_class.toml"});
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(contains(run.err, "warning: cross_entropy over one class: its loss is always 0"));
  CHECK(run.run.has_each_step_once(32));
  for (const auto& line : run.run.events("step")) CHECK(line.at("loss") == 0.0);
}

TEST_CASE("digits learns handwritten digits to at least 97 percent on digits it never saw") {
  const fs::path file = kExperiments / "digits.toml";
  if (!fs::exists(file) || !fs::exists(digits_data())) {
    WARN("skipped: " << (fs::exists(file) ? digits_data() : file) << " is not there");
    return;
  }
  const Workspace w;
  const Outcome run = w.run({"run", file});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.run.summary().at("world_size") == 2);
  const double accuracy = run.run.summary().at("final").at("val_accuracy");
  WARN("validation accuracy " << accuracy);
  CHECK(accuracy >= 0.97);
}

TEST_CASE("every experiment that is shipped is valid and can be planned") {
  const Workspace w;
  for (const auto& entry : fs::directory_iterator(kExperiments)) {
    if (entry.path().extension() != ".toml") continue;
    INFO(entry.path());
    CHECK(w.run({"validate", entry.path()}).code == 0);
  }
}

}  // namespace ddp::system_test
