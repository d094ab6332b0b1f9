// `ddp-exp new`: template files that train unchanged.
#include "catch.h"
#include "sources.h"

namespace ddp::system_test {
namespace fs = std::filesystem;
namespace {

const fs::path kDigits = fs::path(DDP_SOURCE) / "data/digits_images";

// Writes the two files, and trains with them.
RunFolder check_new(const SourcesWorkspace& w, const std::string& kind) {
  const std::string name = "my_" + kind;
  const Outcome written = w.done({"new", kind, name});
  CHECK(contains(written.out, "ddp-exp run " + name + ".toml"));
  const Outcome trained = w.done({"run", name + ".toml"});
  CHECK_FALSE(contains(trained.err, "warning"));
  REQUIRE(trained.run.exists());
  CHECK(trained.run.summary().at("status") == "completed");
  CHECK(trained.run.summary().at("steps") == 20);
  return trained.run;
}

}  // namespace

TEST_CASE("new model writes a model that trains unchanged, and its option can be set", "[slow]") {
  const SourcesWorkspace w;
  check_new(w, "model");
  const Outcome wider = w.done({"plan", "my_model.toml", "--set", "model.width=128"});
  CHECK_FALSE(contains(wider.err, "compiling"));
}

TEST_CASE("new dataset writes a dataset that trains unchanged", "[slow]") {
  const SourcesWorkspace w;
  check_new(w, "dataset");
}

TEST_CASE("new metric writes a metric that validations measure and that chooses the best checkpoint", "[slow]") {
  const SourcesWorkspace w;
  const RunFolder run = check_new(w, "metric");
  CHECK(run.events("epoch").back().at("val_my_metric").get<double>() > 0);
}

TEST_CASE("new loss, new optimizer and new tokenizer write components that train unchanged", "[slow]") {
  const SourcesWorkspace w;
  for (const char* kind : {"loss", "optimizer", "tokenizer"}) check_new(w, kind);
}

TEST_CASE("new transform writes a transform that trains unchanged on the digits that the set-up makes", "[slow]") {
  const SourcesWorkspace w;
  if (!fs::exists(kDigits)) {
    WARN("skipped: " << kDigits << " is not there");
    return;
  }
  fs::create_directories(w.folder() / "cache/ddp-exp/data");
  fs::create_directory_symlink(kDigits, w.folder() / "cache/ddp-exp/data/digits_images");
  check_new(w, "transform");
  CHECK(contains(w.done({"plan", "my_transform.toml", "--draws", "1"}).out, "\"change\": "));
}

TEST_CASE("new overwrites no file, and refuses taken and invalid names and unknown kinds") {
  const SourcesWorkspace w;
  const auto check_not_written = [&](const Words& arguments, const std::string& what) { w.refused(arguments, {what}); };
  w.write("mine.toml", "# mine\n");
  check_not_written({"new", "model", "mine"}, "mine.toml: exists");
  CHECK(text_of(w.folder() / "mine.toml") == "# mine\n");
  CHECK_FALSE(fs::exists(w.folder() / "mine.cpp"));
  check_not_written({"new", "model", "linear"}, "already has a model called \"linear\"");
  check_not_written({"new", "model", "../mine"}, "cannot be the name of a model");
  check_not_written({"new", "modle", "other"}, "did you mean \"model\"?");
}

TEST_CASE("the user's own losses, schedulers and tokenizers are named like the built-in ones", "[slow]") {
  const SourcesWorkspace w;
  w.write("own.cpp", R"(#include <ATen/ops/l1_loss.h>

#include "schedule/scheduler.h"
#include "tokenize/tokenizer.h"
#include "train/loss/loss.h"

namespace {

struct NoOptions {
  void fields(ddp::config::Fields&) {}
};

const bool loss_registered = ddp::train::losses().add<NoOptions>("distance", "mean distance", [](const NoOptions&) {
  return ddp::train::Loss([](const at::Tensor& output, const at::Tensor& target) { return at::l1_loss(output, target); });
});

const bool scheduler_registered = ddp::schedule::schedulers().add<ddp::schedule::Warmup>(
    "halved", "half of lr", [](const ddp::schedule::Warmup&, const ddp::schedule::Horizon& horizon) {
      return ddp::schedule::Scheduler([lr = horizon.lr](std::int64_t) { return lr / 2; });
    });

// Two tokens: a space, and anything else.
class Blanks final : public ddp::tokenize::Tokenizer {
 public:
  std::int64_t vocab_size() const override { return 2; }
  void encode(const ddp::tokenize::Text& text, const ddp::tokenize::TakeIds& take) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text.bytes) ids.push_back(c == ' ' ? 0 : 1);
    take(ids);
  }
  std::string decode(std::span<const std::int64_t> ids) const override {
    std::string text;
    for (const std::int64_t id : ids) text += id == 0 ? ' ' : 'x';
    return text;
  }
  ddp::config::Value options() const override { return ddp::config::Value::object(); }
};

const bool tokenizer_registered = ddp::tokenize::tokenizers().add<NoOptions>(
    "blanks", "blanks and others",
    [](const NoOptions&, const ddp::tokenize::Text&) { return std::make_unique<Blanks>(); });

}  // namespace
)");
  w.write("numbers.toml", R"(
sources     = ["own.cpp"]
model       = "linear"
dataset     = "random_pairs"
loss        = "distance"
scheduler   = "halved"
device_pool = ["cpu", "cpu"]
steps       = 5
)");
  const Outcome numbers = w.done({"run", "numbers.toml", "--set", "optimizer.lr=0.5"});
  CHECK(numbers.run.events("step").front().at("lr") == 0.25);
  w.write("a.txt", "to be or not to be that is the question whether it is nobler in the mind");
  w.write("text.toml", R"(
sources     = ["own.cpp"]
model       = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 4 }
dataset     = { name = "text", path = "a.txt", tokenizer = "blanks", block_size = 4 }
device_pool = ["cpu", "cpu"]
batch_size  = 2
steps       = 2
)");
  const Outcome text = w.done({"run", "text.toml"});
  CHECK_FALSE(contains(text.err, "compiling"));
}

TEST_CASE("new refuses an unknown kind with the nearest one, and a missing name") {
  const Workspace w;
  w.refused({"new", "my.csv"},
            {"no template for \"my.csv\"\n  kinds: dataset, loss, metric, model, optimizer, tokenizer, transform\n"});
  CHECK(contains(w.run({"new", "modle"}).err, "did you mean \"model\"?"));
  CHECK(contains(w.run({"new", "model"}).err, "NAME is missing"));
}

}  // namespace ddp::system_test
