// Shipped experiments that learn: the results that they must reach.
#include "experiments.h"

namespace ddp::system_test {
namespace fs = std::filesystem;

TEST_CASE("digits learns handwritten digits to at least 97 percent on digits it never saw", "[slow]") {
  const fs::path file = kExperiments / "digits.toml";
  if (!fs::exists(file) || !fs::exists(digits_data())) {
    WARN("skipped: " << (fs::exists(file) ? digits_data() : file) << " is not there");
    return;
  }
  const Workspace w;
  const Outcome run = w.done({"run", file});
  CHECK(run.run.summary().at("world_size") == 2);
  const double accuracy = run.run.summary().at("final").at("val_accuracy");
  WARN("validation accuracy " << accuracy);
  CHECK(accuracy >= 0.97);
}

TEST_CASE("digits_cnn learns handwritten digits with a published recipe to 98 percent on digits it never saw") {
  if (!fs::exists(digits_data())) {
    WARN("skipped: " << digits_data() << " is not there");
    return;
  }
  const Workspace w;
  // Half of its epochs, which fit the time limit on a slow machine too.
  const Outcome run = train(w, "digits_cnn", {kTwoCpus, "epochs=10"});
  const Json final = run.run.summary().at("final");
  WARN("validation accuracy " << final.at("val_accuracy"));
  CHECK(final.at("val_accuracy") >= 0.98);
  CHECK(final.at("val_top2") >= final.at("val_accuracy"));
  CHECK(fs::exists(run.run.path() / "checkpoints" / "latest" / "ema.safetensors"));
}

TEST_CASE("digits_images learns handwritten digits from image files to 95 percent on digits it never saw") {
  const fs::path images = fs::path(DDP_SOURCE) / "data" / "digits_images";
  if (!fs::exists(images)) {
    WARN("skipped: " << images << " is not there");
    return;
  }
  const Workspace w;
  // A third of its epochs, which fit the time limit on a slow machine too.
  const Outcome run = train(w, "digits_images", {kTwoCpus, "epochs=10"});
  const double accuracy = run.run.summary().at("final").at("val_accuracy");
  WARN("validation accuracy " << accuracy);
  CHECK(accuracy >= 0.95);
}

TEST_CASE("license_chars learns to spell from the machine's own license files", "[slow]") {
  if (!fs::exists("/usr/share/common-licenses/GPL-2") || !fs::exists("/usr/share/common-licenses/GPL-3")) {
    WARN("skipped: this machine has no /usr/share/common-licenses/GPL-2 and GPL-3");
    return;
  }
  const Workspace w;
  // A fifth of its steps, which fit the time limit on a slow machine too.
  const Outcome run = train(w, "license_chars", {kTwoCpus, "steps=300"});
  const Json final = run.run.summary().at("final");
  WARN("validation loss " << final.at("val_loss") << ", accuracy " << final.at("val_accuracy"));
  // A uniform guess among 76 characters costs ln 76 = 4.3, a guess by frequency 3.1.
  CHECK(final.at("val_loss") < 2.8);
}

TEST_CASE("license_gpt learns to spell by nanoGPT's recipe, and its validation loss falls", "[slow]") {
  if (!fs::exists("/usr/share/common-licenses/GPL-2") || !fs::exists("/usr/share/common-licenses/GPL-3")) {
    WARN("skipped: this machine has no /usr/share/common-licenses/GPL-2 and GPL-3");
    return;
  }
  const Workspace w;
  // A tenth of its steps, which fit the time limit on a slow machine too.
  const Outcome run = train(w, "license_gpt", {kTwoCpus, "steps=200", "validation.every=\"100 steps\""});
  const double after_half = run.run.events("validation").at(0).at("val_loss");
  const double at_the_end = run.run.summary().at("final").at("val_loss");
  WARN("validation loss " << after_half << ", then " << at_the_end);
  CHECK(at_the_end < after_half);
  // A guess by frequency costs 3.1.
  CHECK(at_the_end < 2.8);
}

}  // namespace ddp::system_test
