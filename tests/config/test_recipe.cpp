#include "catch.h"
#include "scratch.h"

namespace ddp::config {
namespace {

Experiment with(const std::string& text, const std::vector<std::string>& sets = {}) {
  return load_text(kModelAndDataset + text, sets).experiment;
}

}  // namespace

TEST_CASE("clipping by value replaces an inherited norm, and a norm replaces an inherited value") {
  const Experiment e = with("clip = { norm = 1.0 }\n", {"clip.value=0.5"});
  CHECK_FALSE(e.clip.norm);
  CHECK(e.clip.value == 0.5);
  CHECK(with("clip = { value = 0.5 }\n", {"clip.norm=2"}).clip.norm == 2.0);
  CHECK(with("clip = { norm = 1.0 }\n", {"clip.norm=0"}).clip.norm == 0);
  CHECK_FALSE(with("").clip.norm);
  CHECK_FALSE(with("").clip.value);
}

TEST_CASE("a file that clips by both or by neither is refused") {
  const std::string both = mistakes(kModelAndDataset + "clip = { norm = 1.0, value = 0.5 }\n");
  CHECK(contains(both, "\"norm\" and \"value\" are both given in [clip]"));
  CHECK(contains(mistakes(kModelAndDataset + "clip = {}\n"), "[clip] gives no limit"));
  CHECK(contains(mistakes(kModelAndDataset + "clip = { norm = -1 }\n"), "clip.norm"));
}

TEST_CASE("the section of an average turns it on with any of its keys, and every = 0 turns it off") {
  CHECK_FALSE(with("").ema.on());
  const Experiment defaults = with("ema = {}\n");
  CHECK(defaults.ema.decay == 0.999);
  CHECK(defaults.ema.every == 1);
  const Experiment set = with("", {"ema.decay=0.99"});
  CHECK(set.ema.on());
  CHECK(set.ema.decay == 0.99);
  CHECK_FALSE(with("ema = { decay = 0.9 }\n", {"ema.every=0"}).ema.on());
  CHECK(contains(mistakes(kModelAndDataset + "ema = { decay = 1.5 }\n"), "ema.decay"));
}

TEST_CASE("a config.toml leaves out features that are off, so that they can be turned on later") {
  const std::string off = to_toml(with("ema = { every = 0 }\n"));
  CHECK_FALSE(contains(off, "[ema]"));
  CHECK_FALSE(contains(off, "[clip]"));
  const std::string on = to_toml(with("ema = { decay = 0.9 }\nclip = { value = 0.5 }\n"));
  CHECK(contains(on, "[ema]\ndecay = 0.9\nevery = 1\n"));
  CHECK(contains(on, "[clip]\nvalue = 0.5\n"));
}

TEST_CASE("an unknown precision is refused with the known ones") {
  CHECK(contains(mistakes(kModelAndDataset + "precision = \"bf32\"\n"), "bf16"));
  CHECK(with("precision = \"bf16\"\n").precision == "bf16");
}

}  // namespace ddp::config
