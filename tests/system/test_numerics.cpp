#include <cmath>
#include <cstring>
#include <limits>

#include "arrays.h"
#include "catch.h"
#include "finished_run.h"
#include "long_run.h"

namespace ddp::system_test {
namespace {

// The scale is too large at first, so steps are skipped; all gradients are clipped.
const Words kAll{"--set", "precision=fp16", "--set", "ema={decay=0.9, every=2}", "--set", "clip.norm=0.05"};

std::string average_of(const RunFolder& run) { return text_of(run.path() / "checkpoints/latest/ema.safetensors"); }

bool has_average(const RunFolder& run) {
  return std::filesystem::exists(run.path() / "checkpoints/latest/ema.safetensors");
}

Json rules_of(const RunFolder& run) {
  return json_of(run.path() / "checkpoints/latest/state.json").value("rules", Json::object());
}

// The numbers of a tensor in the newest checkpoint.
std::vector<float> saved_numbers(const RunFolder& run, const std::string& name) {
  const std::string bytes = run.model();
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const Json place = Json::parse(bytes.substr(sizeof header, header)).at(name).at("data_offsets");
  std::vector<float> numbers((place[1].get<std::size_t>() - place[0].get<std::size_t>()) / sizeof(float));
  std::memcpy(numbers.data(), bytes.data() + sizeof header + header + place[0].get<std::size_t>(),
              numbers.size() * sizeof(float));
  return numbers;
}

// Eight steps per epoch, each saved.
const std::string kAveraged =
    "dataset = { name = \"random_pairs\", size = 128, features = 6 }\nbatch_size = 8\nepochs = 2" + kEachStepSaved;

}  // namespace

TEST_CASE("a killed run in fp16 with an average and clipping resumes to the bits of an uninterrupted run", "[slow]") {
  for (const char* ranks : {"device_pool=1", "device_pool=3"}) {
    const Words arguments = joined(kAll, {"--set", ranks});
    LongRun run(arguments);
    run.process().kill();
    run.check_resumes_to_the_same_bits();
    const RunFolder whole = RunFolder(std::filesystem::canonical(run.workspace().results() / "whole" / "latest"));
    CHECK(average_of(run.folder()) == average_of(whole));
    CHECK(rules_of(run.folder()) == rules_of(whole));
    CHECK(rules_of(whole).at("scaler").at("scale").is_number());
    for (const Json& step : whole.events("step")) CHECK(step.contains("grad_norm"));
  }
}

TEST_CASE("the norm of all gradients before clipping is recorded if the norm is clipped, and not if values are") {
  const FinishedRun norm(kAveraged, {"clip.norm=1e-6"});
  for (const Json& step : norm.run.events("step")) CHECK(step.at("grad_norm").get<double>() > 1e-6);
  const FinishedRun value(kAveraged, {"clip.value=1e-6"});
  for (const Json& step : value.run.events("step")) CHECK_FALSE(step.contains("grad_norm"));
}

TEST_CASE("an average resumes with another number of ranks from its last state", "[slow]") {
  const FinishedRun f(kAveraged, {"ema={decay=0.5}"});
  const std::string before = text_of(f.run.checkpoint(8) / "ema.safetensors");
  for (const int ranks : {1, 4}) {
    f.resume({"small", "--from", "8", "--set", "device_pool=" + std::to_string(ranks), "--set", "optimizer.lr=0",
              "--set", "ema.decay=1"});
    CHECK(average_of(f.run) == before);
    f.resume({"small", "--from", "8", "--set", "device_pool=2"});
  }
}

TEST_CASE(
    "an average that is turned on begins with the next weights, with a message, and one that is turned off is gone") {
  const FinishedRun f(kAveraged);
  CHECK_FALSE(has_average(f.run));
  f.resume({"small", "--from", "8", "--set", "ema.every=4"},
           {"the average of the weights begins at step 12", "changed: ema was not set, now {"});
  CHECK(text_of(f.run.checkpoint(12) / "ema.safetensors") == text_of(f.run.checkpoint(12) / "model.safetensors"));
  CHECK(rules_of(f.run).at("ema").at("updates") == 2);
  f.resume({"small", "--from", "12", "--set", "ema.every=0"},
           {"the average of the weights ends at step 12", "}, now not set"});
  CHECK_FALSE(has_average(f.run));
  CHECK_FALSE(rules_of(f.run).contains("ema"));
  CHECK(f.run.model() == f.model);
}

TEST_CASE("eval of a trained model refuses --set of [ema]") {
  const FinishedRun f(kAveraged, {"ema={decay=0.5}", "validation.split=0.1"});
  for (const char* set : {"ema.every=0", "ema={decay=0.9}"}) {
    f.workspace.refused({"eval", "small", "--set", set}, {"cannot change a trained model"});
  }
  f.workspace.done({"eval", "small", "--raw"});
}

TEST_CASE("a last batch of one sample is refused for a model with batch norm, with a remedy that works") {
  const ArrayWorkspace w("npy", ArrayData(100));
  const auto planned = [](const std::string& batch_size, const std::string& drops, const char* length = "epochs=1") {
    return with_sets({"plan", "arrays.toml"},
                     {"batch_size=" + batch_size, "loader.drop_last_batch=" + drops, length,
                      "model={name=\"sequential\", layers=[{type=\"BatchNorm1d\", num_features=4}, "
                      "{type=\"Linear\", in_features=4, out_features=3}]}"});
  };
  // Of the 50 samples of a rank.
  w.refused(planned("49", "false"),
            {"the last of a rank's 50 samples in an epoch is a batch of one sample, and batch norm",
             "give another batch_size, or loader.drop_last_batch = true"});
  w.done(planned("49", "true"));
  w.done(planned("48", "false"));
  // A run of one step ends before that batch, the second one.
  w.done(planned("49", "false", "steps=1"));
  w.refused(planned("49", "false", "steps=2"), {});
  w.refused(planned("1", "false"), {"each step has a batch of one sample", "give a batch_size of 2 or more"});
}

TEST_CASE("a step that is left out for its loss leaves the running statistics of a batch norm as they were") {
  ArrayData data(100);
  data.x[4 * 50] = std::numeric_limits<float>::quiet_NaN();
  const ArrayWorkspace w("npy", data);
  const Words skipping{"run",
                       "arrays.toml",
                       "--set",
                       "on_nan=skip",
                       "--set",
                       "model={name=\"sequential\", layers=[{type=\"BatchNorm1d\", num_features=4}, "
                       "{type=\"Linear\", in_features=4, out_features=3}]}"};
  for (const char* broadcast : {"true", "false"}) {
    const Words arguments = joined(skipping, {"--set", std::string("distributed.broadcast_buffers=") + broadcast});
    const Outcome run = w.done(arguments, {"is not finite; further skipped steps are only listed in metrics.jsonl"});
    for (const char* statistic : {"0.running_mean", "0.running_var"}) {
      for (const float number : saved_numbers(run.run, statistic)) CHECK(std::isfinite(number));
    }
  }
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
