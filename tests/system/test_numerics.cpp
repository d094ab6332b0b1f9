#include "catch.h"
#include "finished_run.h"
#include "long_run.h"

namespace ddp::system_test {
namespace {

// The scale is too large at first, so steps are skipped; all gradients are clipped.
const std::vector<std::string> kAll{"--set", "precision=fp16", "--set", "ema={decay=0.9, every=2}",
                                    "--set", "clip.norm=0.05"};

std::string average_of(const RunFolder& run) { return text_of(run.path() / "checkpoints/latest/ema.safetensors"); }

bool has_average(const RunFolder& run) {
  return std::filesystem::exists(run.path() / "checkpoints/latest/ema.safetensors");
}

Json rules_of(const RunFolder& run) {
  return json_of(run.path() / "checkpoints/latest/state.json").value("rules", Json::object());
}

// Eight steps per epoch, each saved.
const std::string kAveraged = R"(
dataset     = { name = "random_pairs", size = 128, features = 6 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 2
threads     = 1
[model]
name = "mlp"
in_features = 6
hidden = [8]
out_features = 1
[checkpoint]
save_every_steps = 1
keep_last = 50
)";

}  // namespace

TEST_CASE("a killed run in fp16 with an average and clipping resumes to the bits of an uninterrupted run") {
  for (const char* ranks : {"device_pool=1", "device_pool=3"}) {
    auto arguments = kAll;
    arguments.insert(arguments.end(), {"--set", ranks});
    LongRun run(arguments);
    run.process().signal(SIGKILL);
    REQUIRE(wait_until([&] { return run.process().all_gone(); }));
    run.check_resumes_to_the_same_bits();
    const RunFolder whole = RunFolder(std::filesystem::canonical(run.workspace().results() / "whole" / "latest"));
    CHECK(average_of(run.folder()) == average_of(whole));
    CHECK(rules_of(run.folder()) == rules_of(whole));
    CHECK(rules_of(whole).at("scaler").at("scale").is_number());
    for (const Json& step : whole.events("step")) CHECK(step.contains("grad_norm"));
  }
}

TEST_CASE("an average resumes with another number of ranks from its last state") {
  const FinishedRun f(kAveraged, {"ema={decay=0.5}"});
  const std::string before = text_of(f.run.checkpoint(8) / "ema.safetensors");
  for (const int ranks : {1, 4}) {
    const Outcome again = f.resume({"small", "--from", "8", "--set", "device_pool=" + std::to_string(ranks), "--set",
                                    "optimizer.lr=0", "--set", "ema.decay=1"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(average_of(f.run) == before);
    REQUIRE(f.resume({"small", "--from", "8", "--set", "device_pool=2"}).code == 0);
  }
}

TEST_CASE(
    "an average that is turned on begins with the next weights, with a message, and one that is turned off is gone") {
  const FinishedRun f(kAveraged);
  CHECK_FALSE(has_average(f.run));
  const Outcome on = f.resume({"small", "--from", "8", "--set", "ema.every=4"});
  INFO(on.err);
  REQUIRE(on.code == 0);
  CHECK(contains(on.err, "the average of the weights begins at step 12"));
  CHECK(text_of(f.run.checkpoint(12) / "ema.safetensors") == text_of(f.run.checkpoint(12) / "model.safetensors"));
  CHECK(rules_of(f.run).at("ema").at("updates") == 2);
  const Outcome off = f.resume({"small", "--from", "12", "--set", "ema.every=0"});
  INFO(off.err);
  REQUIRE(off.code == 0);
  CHECK(contains(off.err, "the average of the weights ends at step 12"));
  CHECK_FALSE(has_average(f.run));
  CHECK_FALSE(rules_of(f.run).contains("ema"));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("without fp16, average and clipping a checkpoint and its events have no trace of them") {
  const FinishedRun f(kAveraged);
  CHECK_FALSE(has_average(f.run));
  CHECK(rules_of(f.run).empty());
  for (const Json& step : f.run.events("step")) {
    CHECK_FALSE(step.contains("grad_norm"));
    CHECK_FALSE(step.contains("skipped"));
  }
}

}  // namespace ddp::system_test
